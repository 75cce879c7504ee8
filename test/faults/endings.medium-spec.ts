/** Every way in which a request can end, many times each: what its client sees, its receipt, its charge and the books. */
import { DrainService } from '../../src/http/drain.service';
import type { StreamSink } from '../../src/providers/contract/chat';
import { FakeUpstream } from '../conformance/fake-upstream';
import { TestGateway, type TestCustomer } from '../harness/gateway';
import { settle } from '../harness/turns';
import { createCatalog } from '../harness/upstream-models';
import {
  type Books,
  chatProviderOf,
  DELIVERED,
  delivered,
  endingOf,
  kindsOf,
  nothing,
  PATH,
  play,
  type Receipt,
  requestOf,
  SHED,
  untilServed,
  WORDS,
} from './ending-kinds';
import { FULL, report, until } from './figures';

const TIMES = FULL ? 100 : 10;
const CREDIT_MICRO = 10_000_000;
/** On a busy machine a charge may take longer than there is between two cuts: they end well before nobody waits for it any more. */
const CUT_FOR_MS = FULL ? Infinity : 2_000;
const NEVER_MS = 60_000;
/** Of the gateway with its upstream: more than a busy machine needs for any answer that does come. */
const PATIENCE_MS = FULL ? 1_000 : 5_000;

const catalog = createCatalog();
let upstream: FakeUpstream;
let gateway: TestGateway;
let customer: TestCustomer;

beforeAll(async () => {
  upstream = await FakeUpstream.start();
  upstream.answer = (response, { body }) => play(response, JSON.parse(body).messages[0].content);
  gateway = await TestGateway.start({
    OPENAI_COMPATIBLE_BASE_URL: `${upstream.origin}/v1`,
    CATALOG_DIR: catalog.path,
    UPSTREAM_REPLY_TIMEOUT_MS: String(PATIENCE_MS),
    UPSTREAM_FIRST_TOKEN_TIMEOUT_MS: String(PATIENCE_MS),
    // What fails here is to fail each time, and not to be left out after the first few.
    CIRCUIT_BREAKER_FAILURES: '0',
  });
});
afterAll(async () => {
  await gateway.stop();
  await upstream.stop();
  catalog.remove();
});
beforeEach(async () => {
  customer = await gateway.customer({}, BigInt(CREDIT_MICRO));
});
afterEach(() => jest.restoreAllMocks());

/** One request to its end: status and code, of the envelope or of the last event. */
async function ask(prompt: string, stream: boolean): Promise<string> {
  return endingOf(await gateway.call(PATH, { key: customer.key, body: requestOf(prompt, stream) }));
}

const all = async (end: (turn: number) => Promise<string>): Promise<string[]> => [
  ...new Set(await Promise.all(Array.from({ length: TIMES }, (_, turn) => end(turn)))),
];

/** A client that leaves: as soon as the upstream has its request, or with the first words of the answer. */
async function leave(
  prompt: string,
  stream: boolean,
  when: 'asked' | 'answered',
  before = upstream.received.length,
): Promise<string> {
  const leaving = new AbortController();
  const exchange = fetch(`${gateway.url}${PATH}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${customer.key}`, 'content-type': 'application/json' },
    body: JSON.stringify(requestOf(prompt, stream)),
    signal: leaving.signal,
  });
  if (when === 'answered') {
    const response = await exchange;
    await response.body?.getReader().read();
    if (response.status === 503) return leave(prompt, stream, when, before);
    leaving.abort();
    return 'left';
  }
  let isShed = false;
  void exchange.then(({ status }) => (isShed = status === 503)).catch(() => undefined);
  await until('all requests reached the upstream', 10_000, () => isShed || upstream.received.length >= before + TIMES);
  leaving.abort();
  if (isShed) return leave(prompt, stream, when, before);
  return exchange.then(
    () => 'answered',
    () => 'left',
  );
}

/** What is written down, once nothing is held any more. */
async function books(): Promise<Books> {
  const { organizationId } = customer;
  const count = async (sql: string): Promise<number> =>
    Number((await gateway.rows<{ count: string }>(sql, [organizationId]))[0]?.count);
  const held = (): Promise<number> =>
    count(`SELECT count(*) FROM reservation WHERE organization_id = $1 AND state = 'held'`);
  await until('the end of the last hold', 10_000, async () => (await held()) === 0);
  const receipts = await gateway.rows<Receipt>(
    `SELECT status, error_code, usage_estimated, charged_micro::float AS charged, input_text::float AS input_text,
            output_text::float AS output_text FROM usage_record WHERE organization_id = $1`,
    [organizationId],
  );
  expect(await gateway.violations()).toEqual([]);
  return {
    receipts,
    held: await held(),
    entries: await count(`SELECT count(*) FROM ledger_entry WHERE organization_id = $1 AND kind = 'charge'`),
    charged:
      CREDIT_MICRO -
      (await count('SELECT balance_micro AS count FROM organization_account WHERE organization_id = $1')),
  };
}

describe.each([
  ['whole', false],
  ['streamed', true],
])('an answer that is %s', (_name, stream) => {
  it('and complete is charged with what the upstream has delivered', async () => {
    expect(await all(() => untilServed(() => ask(stream ? 'stream' : 'answer', stream)))).toEqual(['200']);
    const seen = await books();
    expect(kindsOf(seen)).toEqual([delivered]);
    expect(seen).toMatchObject({ held: 0, entries: TIMES, charged: TIMES * DELIVERED.costMicro });
    expect(seen.receipts).toHaveLength(TIMES);
  });

  it.each([
    ['status 400', 400, 'validation_failed'],
    ['status 404', 502, 'provider_error'],
    ['status 429', 429, 'provider_rate_limited'],
    ['status 500', 503, 'provider_unavailable'],
    ['hang', 504, 'provider_timeout'],
    ['reset', 503, 'provider_unavailable'],
    ['garbage', 502, 'provider_error'],
  ])('and fails before it begins (%s) costs nothing', async (prompt, status, code) => {
    expect(await all(() => untilServed(() => ask(prompt, stream)))).toEqual([`${status} ${code}`]);
    const seen = await books();
    expect(kindsOf(seen)).toEqual([{ ...nothing, status, error_code: code }]);
    expect(seen.receipts).toHaveLength(TIMES);
    expect(seen).toMatchObject({ held: 0, entries: 0, charged: 0 });
  });

  it('and that nobody waits for costs nothing', async () => {
    expect(await all(() => leave('hang', stream, 'asked'))).toEqual(['left']);
    const seen = await books();
    expect(kindsOf(seen)).toEqual([{ ...nothing, status: 499, error_code: null }]);
    expect(seen.receipts).toHaveLength(TIMES);
    expect(seen).toMatchObject({ held: 0, entries: 0, charged: 0 });
  });

  it.each(['at once', 'later'])('and meets a mistake of our own, thrown %s, costs nothing', async (when) => {
    const fail = (): Promise<never> => {
      const mistake = new TypeError('Cannot read properties of undefined');
      if (when === 'at once') throw mistake;
      return Promise.reject(mistake);
    };
    const chat = chatProviderOf(gateway);
    jest.spyOn(chat, 'complete').mockImplementation(fail);
    jest.spyOn(chat, 'openStream').mockImplementation(fail);
    expect(await all(() => untilServed(() => ask('answer', stream)))).toEqual(['500 internal_error']);
    const seen = await books();
    expect(kindsOf(seen)).toEqual([{ ...nothing, status: 500, error_code: 'internal_error' }]);
    expect(seen.receipts).toHaveLength(TIMES);
    expect(seen).toMatchObject({ held: 0, entries: 0, charged: 0 });
  });

  it('and is shed, since the books cannot be reached in time, leaves nothing behind but refusals', async () => {
    const blocker = await gateway.pool.connect();
    await blocker.query('BEGIN');
    await blocker.query('SELECT 1 FROM organization_account WHERE organization_id = $1 FOR UPDATE', [
      customer.organizationId,
    ]);
    const asked = upstream.received.length;
    expect(await all(() => ask(stream ? 'stream' : 'answer', stream))).toEqual([SHED]);
    await blocker.query('ROLLBACK');
    blocker.release();
    expect(upstream.received).toHaveLength(asked);
    // When the next one is served, the statement for those who were shed has had its end: what it held is being voided.
    const shed = customer;
    customer = await gateway.customer({}, BigInt(CREDIT_MICRO));
    await until('the engine works again', 5_000, async () => (await ask('answer', false)) === '200');
    customer = shed;
    const seen = await books();
    expect(seen).toMatchObject({ held: 0, entries: 0, charged: 0 });
    expect(seen.receipts).toEqual([]);
  });

  it('and whose connections to the database are cut is charged if, and only if, it was delivered', async () => {
    const enough = new AbortController();
    const cut: number[] = [];
    const cuts = (async () => {
      const untilMs = performance.now() + CUT_FOR_MS;
      while (!enough.signal.aborted && performance.now() < untilMs) {
        const terminated = await gateway.rows<{ pid: number }>(
          `SELECT pid, pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE datname = current_database() AND application_name = 'gateway money'`,
        );
        cut.push(...terminated.map(({ pid }) => pid));
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    })();
    const outcomes = await Promise.all(
      Array.from({ length: TIMES }, () => ask(stream ? 'stream 100' : 'answer 100', stream)),
    );
    enough.abort();
    await cuts;
    // A backend ends some time after it was told to, and is heard of after that: no later question may meet it.
    await until('the end of the connections', 10_000, async () => {
      const alive = await gateway.rows('SELECT FROM pg_stat_activity WHERE pid = ANY ($1)', [cut]);
      return alive.length === 0;
    });
    await settle(0);
    const seen = await books();
    const complete = outcomes.filter((outcome) => outcome === '200').length;
    report('connections to the database cut', { stream, complete, of: TIMES });
    expect(outcomes.filter((outcome) => outcome !== '200' && !outcome.endsWith('service_unavailable'))).toEqual([]);
    expect(seen.receipts.filter(({ status }) => status === 200)).toHaveLength(complete);
    expect(seen).toMatchObject({ held: 0, entries: complete, charged: complete * DELIVERED.costMicro });
  });
});

describe('a stream that has begun', () => {
  /** All receipts say the same, and the charge is the price of what they say. */
  async function expectPartialCharges(status: number, code: string | null): Promise<void> {
    const seen = await books();
    const [kind, ...others] = kindsOf(seen);
    expect([kind, ...others]).toEqual([kind]);
    expect(kind).toMatchObject({ status, error_code: code, usage_estimated: true });
    expect(seen.receipts).toHaveLength(TIMES);
    const { input_text: input = 0, output_text: output = 0, charged = 0 } = kind ?? {};
    expect(charged).toBe(input + 2 * output);
    // The words that were delivered: neither none nor more than their bytes.
    expect(output).toBeGreaterThan(0);
    expect(output).toBeLessThanOrEqual(Buffer.byteLength(WORDS));
    expect(seen).toMatchObject({ held: 0, entries: TIMES, charged: TIMES * charged });
  }

  it('and is left by its client is charged with what was delivered', async () => {
    expect(await all(() => leave('begin-and-hang', true, 'answered'))).toEqual(['left']);
    await expectPartialCharges(499, null);
  });

  it('and is broken by the upstream is charged with what was delivered, and says so', async () => {
    expect(await all(() => untilServed(() => ask('begin-and-reset', true)))).toEqual(['200, then stream_interrupted']);
    await expectPartialCharges(502, 'stream_interrupted');
  });

  it('and ends without an end is charged with what was delivered, and says so', async () => {
    expect(await all(() => untilServed(() => ask('begin-and-stop', true)))).toEqual(['200, then provider_disconnect']);
    await expectPartialCharges(502, 'provider_disconnect');
  });

  it('and meets a mistake of our own is charged with what was delivered, and says so', async () => {
    const chat = chatProviderOf(gateway);
    const openStream = chat.openStream.bind(chat);
    jest.spyOn(chat, 'openStream').mockImplementation(async (request, call) => {
      const opened = await openStream(request, call);
      const pipe = opened.pipe.bind(opened);
      jest.spyOn(opened, 'pipe').mockImplementation((sink: StreamSink) =>
        pipe({
          write: (frames) => {
            sink.write(frames);
            throw new TypeError('Cannot read properties of undefined');
          },
          drained: () => sink.drained(),
        }),
      );
      return opened;
    });
    expect(await all(() => untilServed(() => ask('begin-and-hang', true)))).toEqual(['200, then internal_error']);
    await expectPartialCharges(500, 'internal_error');
  });
});

// The last one: the gateway takes nothing after it.
it('a stop lets what has been accepted end as always, and refuses the rest without a trace', async () => {
  const before = upstream.received.length;
  const accepted = Array.from({ length: TIMES }, (_, turn) =>
    untilServed(() => ask(turn % 2 === 0 ? 'answer 500' : 'stream 500', turn % 2 !== 0)),
  );
  await until('all of them are under way', 10_000, () => upstream.received.length >= before + TIMES);
  const drained = gateway.app.get(DrainService, { strict: false }).drain(NEVER_MS);
  expect(await all(() => ask('answer', false))).toEqual([SHED]);
  expect([...new Set(await Promise.all(accepted))]).toEqual(['200']);
  expect(await drained).toBe(true);
  const seen = await books();
  expect(kindsOf(seen)).toEqual([delivered]);
  expect(seen).toMatchObject({ held: 0, entries: TIMES, charged: TIMES * DELIVERED.costMicro });
});
