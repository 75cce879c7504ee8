/** Every way in which a request can end, many times each: the client's result, receipt, charge and ledger. */
import { DrainService } from '../../src/http/availability';
import type { StreamSink } from '../../src/providers/contract/chat';
import { FakeUpstream } from '../conformance/fake-upstream';
import { TestGateway, type TestCustomer } from '../harness/gateway';
import { settle } from '../harness/event-loop';
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
/** On a busy machine a charge can outlast the pause between two cuts: the cuts end well before the charge timeout. */
const CUT_FOR_MS = FULL ? Infinity : 2_000;
const NEVER_MS = 60_000;
/** Timeout between the gateway and its upstream: longer than a busy machine needs for any response. */
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
    // Each failure must be repeated: no circuit breaker after the first few.
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

/** Runs one request to its end: status and code, from the envelope or the last event. */
async function ask(prompt: string, stream: boolean): Promise<string> {
  return endingOf(await gateway.call(PATH, { key: customer.key, body: requestOf(prompt, stream) }));
}

const all = async (end: (index: number) => Promise<string>): Promise<string[]> => [
  ...new Set(await Promise.all(Array.from({ length: TIMES }, (_, index) => end(index)))),
];

/** A client that disconnects as soon as the upstream has its request, or at the first words of the response. */
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

/** The receipts, once no hold remains. */
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
])('a %s response', (_name, stream) => {
  it("that completes is charged with the upstream's usage", async () => {
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
  ])('that fails before it starts (%s) costs nothing', async (prompt, status, code) => {
    expect(await all(() => untilServed(() => ask(prompt, stream)))).toEqual([`${status} ${code}`]);
    const seen = await books();
    expect(kindsOf(seen)).toEqual([{ ...nothing, status, error_code: code }]);
    expect(seen.receipts).toHaveLength(TIMES);
    expect(seen).toMatchObject({ held: 0, entries: 0, charged: 0 });
  });

  it('that its client abandons costs nothing', async () => {
    expect(await all(() => leave('hang', stream, 'asked'))).toEqual(['left']);
    const seen = await books();
    expect(kindsOf(seen)).toEqual([{ ...nothing, status: 499, error_code: null }]);
    expect(seen.receipts).toHaveLength(TIMES);
    expect(seen).toMatchObject({ held: 0, entries: 0, charged: 0 });
  });

  it.each(['at once', 'later'])('that hits an internal error, thrown %s, costs nothing', async (when) => {
    const fail = (): Promise<never> => {
      const mistake = new TypeError('Cannot read properties of undefined');
      if (when === 'at once') throw mistake;
      return Promise.reject(mistake);
    };
    const chat = chatProviderOf(gateway);
    jest.spyOn(chat, 'complete').mockImplementation(fail);
    jest.spyOn(chat, 'openChunkStream').mockImplementation(fail);
    expect(await all(() => untilServed(() => ask('answer', stream)))).toEqual(['500 internal_error']);
    const seen = await books();
    expect(kindsOf(seen)).toEqual([{ ...nothing, status: 500, error_code: 'internal_error' }]);
    expect(seen.receipts).toHaveLength(TIMES);
    expect(seen).toMatchObject({ held: 0, entries: 0, charged: 0 });
  });

  it('that is shed because the ledger is too slow leaves only refusals', async () => {
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
    // Once a later request is served, the statement of the shed requests has ended: their holds are being voided.
    const shed = customer;
    customer = await gateway.customer({}, BigInt(CREDIT_MICRO));
    await until('the engine works again', 5_000, async () => (await ask('answer', false)) === '200');
    customer = shed;
    const seen = await books();
    expect(seen).toMatchObject({ held: 0, entries: 0, charged: 0 });
    expect(seen.receipts).toEqual([]);
  });

  it('whose database connections are cut is charged if and only if it was delivered', async () => {
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
    // A backend ends some time after its termination, and reports it later: no later query may use it.
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
  /** All receipts agree, and the charge is the price of their usage. */
  async function expectPartialCharges(status: number, code: string | null): Promise<void> {
    const seen = await books();
    const [kind, ...others] = kindsOf(seen);
    expect([kind, ...others]).toEqual([kind]);
    expect(kind).toMatchObject({ status, error_code: code, usage_estimated: true });
    expect(seen.receipts).toHaveLength(TIMES);
    const { input_text: input = 0, output_text: output = 0, charged = 0 } = kind ?? {};
    expect(charged).toBe(input + 2 * output);
    // The delivered words: at least one token and at most their bytes.
    expect(output).toBeGreaterThan(0);
    expect(output).toBeLessThanOrEqual(Buffer.byteLength(WORDS));
    expect(seen).toMatchObject({ held: 0, entries: TIMES, charged: TIMES * charged });
  }

  it('is charged for the delivered part when its client disconnects', async () => {
    expect(await all(() => leave('begin-and-hang', true, 'answered'))).toEqual(['left']);
    await expectPartialCharges(499, null);
  });

  it('is charged for the delivered part when the upstream breaks it, and reports the failure', async () => {
    expect(await all(() => untilServed(() => ask('begin-and-reset', true)))).toEqual(['200, then stream_interrupted']);
    await expectPartialCharges(502, 'stream_interrupted');
  });

  it('is charged for the delivered part when it has no finish, and reports the failure', async () => {
    expect(await all(() => untilServed(() => ask('begin-and-stop', true)))).toEqual(['200, then provider_disconnect']);
    await expectPartialCharges(502, 'provider_disconnect');
  });

  it('is charged for the delivered part on an internal error, and reports the failure', async () => {
    const chat = chatProviderOf(gateway);
    const openChunkStream = chat.openChunkStream.bind(chat);
    jest.spyOn(chat, 'openChunkStream').mockImplementation(async (request, call) => {
      const opened = await openChunkStream(request, call);
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

// The last test: afterwards the gateway accepts no requests.
it('a shutdown completes accepted requests normally, and refuses others without a trace', async () => {
  const before = upstream.received.length;
  const accepted = Array.from({ length: TIMES }, (_, index) =>
    untilServed(() => ask(index % 2 === 0 ? 'answer 500' : 'stream 500', index % 2 !== 0)),
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
