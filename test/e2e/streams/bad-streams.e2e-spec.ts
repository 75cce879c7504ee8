/** Invalid provider streams and the resulting client responses. */
import type { ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { FakeUpstream, flood, type Outflow } from '../../conformance/fake-upstream';
import { until } from '../../faults/figures';
import { type CallReply, TestGateway, type TestCustomer } from '../../harness/gateway';
import { settle } from '../../harness/event-loop';
import { chunk, createCatalog, event, usageChunk } from '../../harness/upstream-models';

/** Longer than a machine stalls, so that only the intended limit can end a request. */
const IDLE_TIMEOUT_MS = 2_500;
const TOTAL_TIMEOUT_MS = 5_000;
const CREDIT_MICRO = 10_000_000;
const TEXT = 'Grüße 日本 😀';
const FIRST = chunk({ role: 'assistant', content: TEXT });
const END = chunk({}, 'stop') + usageChunk(10, 5) + event('[DONE]');
const MEBIBYTE = 1024 * 1024;

const catalog = createCatalog();
let upstream: FakeUpstream;
let gateway: TestGateway;
let customer: TestCustomer;

beforeAll(async () => {
  upstream = await FakeUpstream.start();
  gateway = await start();
});
afterAll(async () => {
  await gateway.stop();
  await upstream.stop();
  catalog.remove();
});
beforeEach(async () => {
  customer = await gateway.customer({}, BigInt(CREDIT_MICRO));
});
afterEach(async () => {
  const held = () => gateway.rows(`SELECT id FROM reservation WHERE state = 'held'`);
  await until('the end of all holds', 5_000, async () => (await held()).length === 0);
  const wrong = await gateway.violations();
  if (wrong.length > 0) throw new Error(`left behind: ${JSON.stringify(wrong)}`);
});

function start(environment: Record<string, string> = {}): Promise<TestGateway> {
  return TestGateway.start({
    OPENAI_COMPATIBLE_BASE_URL: `${upstream.origin}/v1`,
    CATALOG_DIR: catalog.path,
    CIRCUIT_BREAKER_FAILURES: '0',
    LOG_LEVEL: 'silent',
    ...environment,
  });
}

type Play = (response: ServerResponse) => Promise<void> | void;

const ask = (play: Play, contentType = 'text/event-stream', model = 'local/chat'): Promise<CallReply> => {
  upstream.answer = (response) => {
    response.setHeader('content-type', contentType);
    void play(response);
  };
  const messages = [{ role: 'user', content: 'hi' }];
  return gateway.call('/v1/chat/completions', { key: customer.key, body: { model, stream: true, messages } });
};
/** Waits until the gateway has read the written bytes. */
const pause = (): Promise<void> => settle(30);
const textOf = ({ events }: CallReply): string =>
  events
    .filter((data) => data !== '[DONE]')
    .map((data) => JSON.parse(data).choices?.[0]?.delta.content ?? '')
    .join('');
const failureOf = ({ events, json }: CallReply): string | null =>
  json?.error.code ?? JSON.parse(events.at(-2) ?? '{}').error?.code ?? null;
const spent = async (): Promise<number> => {
  const [row] = await gateway.rows<{ balance: string }>(
    'SELECT balance_micro AS balance FROM organization_account WHERE organization_id = $1',
    [customer.organizationId],
  );
  return CREDIT_MICRO - Number(row?.balance);
};

describe('F-53: garbage in a stream', () => {
  const garbage: [string, string | Buffer][] = [
    ['bad JSON', 'data: {"choices":[{]}\n\n'],
    ['JSON that is not a chunk', 'data: "choices"\n\n'],
    ['NUL bytes', Buffer.from('data: \0\0\0\n\n')],
    ['a line of 10 MiB', `data: ${'x'.repeat(10 * MEBIBYTE)}\n\n`],
    ['an event of many lines', 'data: x\n'.repeat(MEBIBYTE)],
    ['an error event', event({ error: { code: 503, message: 'overloaded' } })],
    ['an error event as the very last bytes, unterminated', 'data: {"error":{"code":503,"message":"overloaded"}}'],
    ['a failed finish', chunk({}, 'error')],
  ];
  /** The gateway skips one unparsable event, so it takes two to end a stream. */
  const twice = garbage.map(([name, bytes]): [string, Buffer] => {
    const skipped = ['bad JSON', 'JSON that is not a chunk', 'NUL bytes'].includes(name);
    return [name, Buffer.concat(Array<Buffer>(skipped ? 2 : 1).fill(Buffer.from(bytes)))];
  });

  it('ends a started stream as interrupted when the skipped event was its finish', async () => {
    const reply = await ask(async (response) => {
      response.write(FIRST);
      await pause();
      response.end(`data: {"choices":[{]}\n\n${usageChunk(10, 5)}${event('[DONE]')}`);
    });
    expect([failureOf(reply), reply.events.at(-1), textOf(reply)]).toEqual(['provider_disconnect', '[DONE]', TEXT]);
  });

  it.each<[string, string, boolean]>([
    ['the reported usage', usageChunk(10, 5), false],
    ['the delivered text if the provider reports no usage', '', true],
  ])('skips one unparsable event, and charges %s', async (_name, usage, isEstimated) => {
    const reply = await ask(
      (response) => void response.end(`${FIRST}data: {"choices":[{]}\n\n${FIRST}${chunk({}, 'stop')}${usage}`),
    );
    expect([textOf(reply), failureOf(reply)]).toEqual([TEXT + TEXT, null]);
    const last = JSON.parse(reply.events.at(-2) ?? '').usage;
    expect(last.completion_tokens).toBe(isEstimated ? Math.ceil(Buffer.byteLength(TEXT + TEXT) / 4) : 5);
    expect(last.x_llm_usage_estimated).toBe(isEstimated ? true : undefined);
    expect(last.x_llm_cost_micro).toBe(await spent());
  });

  it.each(twice)('interrupts a started stream and charges the delivered part: %s', async (_name, bytes) => {
    const reply = await ask(async (response) => {
      response.write(FIRST);
      await pause();
      response.end(bytes);
    });
    expect([reply.status, failureOf(reply), reply.events.at(-1)]).toEqual([200, 'stream_interrupted', '[DONE]']);
    expect(textOf(reply)).toBe(TEXT);
    expect(await spent()).toBeGreaterThan(0);
  });

  it.each(garbage)('returns an HTTP error before the first token without a charge: %s', async (_name, bytes) => {
    const reply = await ask((response) => void response.end(bytes));
    expect(reply.status).toBeGreaterThanOrEqual(502);
    expect(failureOf(reply)).toMatch(/^provider_(error|unavailable)$/);
    expect(await spent()).toBe(0);
  });

  it('stops reading a line without an end early', async () => {
    let outflow: Outflow = { bytes: 0 };
    const reply = await ask(async (response) => {
      response.write(FIRST);
      await pause();
      outflow = flood(response, Buffer.alloc(65_536, 'x'), 100 * MEBIBYTE);
    });
    expect(failureOf(reply)).toBe('stream_interrupted');
    expect(outflow.bytes).toBeLessThan(30 * MEBIBYTE);
  });

  it('never splits a character, however the bytes arrive', async () => {
    const bytes = Buffer.from(FIRST + chunk({ content: TEXT }) + chunk({ content: TEXT }) + END);
    const reply = await ask(async (response) => {
      for (const byte of bytes) {
        response.write(Buffer.of(byte));
        if (byte >= 0x80) await new Promise((resolve) => setImmediate(resolve));
      }
      response.end();
    });
    expect([textOf(reply), failureOf(reply)]).toEqual([TEXT.repeat(3), null]);
  });

  it('accepts every line ending in one stream', async () => {
    const reply = await ask((response) => {
      response.write(FIRST.replaceAll('\n', '\r\n') + chunk({ content: TEXT }).replaceAll('\n', '\r'));
      response.end(`: comment\r\n\nid: 7\revent: message\r\n${chunk({ content: TEXT })}${END}`);
    });
    expect([textOf(reply), failureOf(reply)]).toEqual([TEXT.repeat(3), null]);
  });

  it('replaces invalid UTF-8 bytes and continues', async () => {
    const [head, tail] = chunk({ content: '|' }).split('|') as [string, string];
    const broken = Buffer.concat([Buffer.from(head), Buffer.of(0xe6, 0x97), Buffer.from(tail)]);
    const reply = await ask(
      (response) => void response.end(Buffer.concat([Buffer.from(FIRST), broken, Buffer.from(END)])),
    );
    expect([textOf(reply), failureOf(reply)]).toEqual([`${TEXT}\uFFFD`, null]);
  });
});

describe('a response that is not a stream', () => {
  it.each([
    ['a web page', 'text/html; charset=utf-8', '<html>Sign in</html>', 502, 'provider_error'],
    ['a web page with a stream content type', 'text/event-stream', '<html>Sign in</html>', 502, 'provider_disconnect'],
    [
      'a complete non-streamed completion',
      'application/json',
      '{"choices":[{"message":{"content":"x"}}]}',
      502,
      'provider_error',
    ],
    ['an error document', 'application/json', '{"error":{"code":503}}', 503, 'provider_unavailable'],
    ['bytes', 'application/octet-stream', Buffer.alloc(1_000, 7), 502, 'provider_disconnect'],
    ['nothing', 'text/event-stream', '', 502, 'provider_disconnect'],
  ])('is refused: %s', async (_name, contentType, body, status, code) => {
    const reply = await ask((response) => void response.end(body), contentType);
    expect([reply.status, failureOf(reply)]).toEqual([status, code]);
    expect(await spent()).toBe(0);
  });

  it('reads stream events under a content type that is not text/event-stream', async () => {
    const reply = await ask((response) => void response.end(FIRST + END), 'text/plain');
    expect([textOf(reply), failureOf(reply)]).toEqual([TEXT, null]);
  });
});

describe('F-54: incomplete streams', () => {
  it('treats a missing finish reason as a disconnect, with or without [DONE]', async () => {
    for (const last of ['', event('[DONE]'), usageChunk(10, 5) + event('[DONE]')]) {
      const reply = await ask(async (response) => {
        response.write(FIRST);
        await pause();
        response.end(last);
      });
      expect([failureOf(reply), reply.events.at(-1)]).toEqual(['provider_disconnect', '[DONE]']);
    }
  });

  it('estimates unreported usage and marks it as estimated', async () => {
    const reply = await ask((response) => void response.end(FIRST + chunk({}, 'stop')));
    const { usage } = JSON.parse(reply.events.at(-2) ?? '');
    expect(usage).toMatchObject({
      completion_tokens: Math.ceil(Buffer.byteLength(TEXT) / 4),
      x_llm_usage_estimated: true,
      x_llm_cost_micro: await spent(),
    });
  });
});

describe('endless streams', () => {
  let patient: TestGateway;
  beforeAll(async () => {
    patient = gateway;
    gateway = await start({
      UPSTREAM_IDLE_TIMEOUT_MS: String(IDLE_TIMEOUT_MS),
      UPSTREAM_TOTAL_TIMEOUT_MS: String(TOTAL_TIMEOUT_MS),
    });
  });
  afterAll(async () => {
    await gateway.stop();
    gateway = patient;
  });

  it.each<[string, Play, number]>([
    ['silence', () => undefined, IDLE_TIMEOUT_MS],
    ['an event that drips and never completes', (response) => drip(response, 'data: x\n'), IDLE_TIMEOUT_MS],
    ['a stream of comments only', (response) => drip(response, ': hm\n\n'), TOTAL_TIMEOUT_MS],
    ['endless text', (response) => drip(response, chunk({ content: 'x' })), TOTAL_TIMEOUT_MS],
  ])('interrupts %s at its limit', async (_name, goOn, limitMs) => {
    const startedAtMs = performance.now();
    const reply = await ask((response) => {
      response.write(FIRST);
      return goOn(response);
    });
    expect([failureOf(reply), reply.events.at(-1)]).toEqual(['stream_interrupted', '[DONE]']);
    expect(performance.now() - startedAtMs).toBeGreaterThanOrEqual(limitMs - 50);
    await until('the end of the upstream call', 1_000, () => upstream.received.at(-1)?.brokenAtMs !== null);
    expect(await spent()).toBeGreaterThan(0);
  });

  async function drip(response: ServerResponse, bytes: string): Promise<void> {
    for (; !response.destroyed; await delay(20)) response.write(bytes);
  }
});

describe('F-56: implausible usage', () => {
  const usages: [string, string][] = [
    ['negative', '{"prompt_tokens":-5,"completion_tokens":-1000000}'],
    ['partly negative', '{"prompt_tokens":10,"completion_tokens":-1}'],
    ['a string', '{"prompt_tokens":"10","completion_tokens":"NaN"}'],
    ['huge', '{"prompt_tokens":1e15,"completion_tokens":1e300}'],
    ['infinite', '{"prompt_tokens":1e999,"completion_tokens":1}'],
    ['a fraction', '{"prompt_tokens":0.1,"completion_tokens":1.9}'],
    [
      'details above their total',
      '{"prompt_tokens":1,"prompt_tokens_details":{"cached_tokens":1e18},"completion_tokens":1}',
    ],
    ['a list', '[1,2]'],
  ];

  it.each(usages)('charges between zero and the hold for usage that is %s', async (_name, usage) => {
    for (const model of ['local/chat', 'local/unbounded']) {
      const before = await spent();
      const finish = `data: {"choices":[],"usage":${usage}}\n\n`;
      const reply = await ask((response) => void response.end(FIRST + chunk({}, 'stop') + finish), undefined, model);
      const charge = (await spent()) - before;
      expect([reply.status, failureOf(reply)]).toEqual([200, null]);
      expect(charge).toBeGreaterThanOrEqual(0);
      expect(charge).toBeLessThanOrEqual(Number(reply.headers.get('x-llm-cost-micro')));
      expect(JSON.parse(reply.events.at(-2) ?? '').usage.x_llm_cost_micro).toBe(charge);
    }
  });
});
