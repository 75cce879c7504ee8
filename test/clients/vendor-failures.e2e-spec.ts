/** Every way in which a call to a vendor fails, in the wire format of every dialect, through the official client. */
import { randomUUID } from 'node:crypto';
import { Logger } from '@nestjs/common';
import { type Answer, FakeUpstream } from '../conformance/fake-upstream';
import { type Dialect, DIALECTS, goldenStream } from '../e2e/streams/golden-stream';
import { type TestCustomer, TestGateway } from '../harness/gateway';
import { ManagementServer } from '../../src/http/management-server';
import { createCatalog, DIALECT_MODELS } from '../harness/upstream-models';
import { NEWEST_CLIENT } from './official-client';
import { heldMicro, recordsOf, soleRecordOf } from './traces';
import { IN_BAND, RATE_LIMIT, type Refusal, refusalCases } from './vendor-refusals';

const SETUP: Readonly<Record<Dialect, { readonly model: string; readonly provider: string }>> = {
  'openai-chat': { model: 'local/chat', provider: 'openai-compatible' },
  'openai-responses': { model: 'local/responses', provider: 'openai' },
  'anthropic-messages': { model: 'local/messages', provider: 'anthropic' },
  'gemini-generate': { model: 'local/generate', provider: 'google' },
};
/** Words, which no pattern for secrets redacts. */
const PROMPT = 'What does the violet walrus whisper?';
const OPERATOR_KEY = `sk-${randomUUID()}`;

const catalog = createCatalog(DIALECT_MODELS);
const logged: string[] = [];
let upstream: FakeUpstream;
let gateway: TestGateway;
let management: ManagementServer;
let managementUrl: string;
let customer: TestCustomer;

beforeAll(async () => {
  for (const level of ['log', 'warn', 'error', 'debug', 'verbose', 'fatal'] as const) {
    jest.spyOn(Logger.prototype, level).mockImplementation((...lines: unknown[]) => {
      logged.push(
        JSON.stringify([level, ...lines], (_key, value: unknown) => (value instanceof Error ? value.stack : value)),
      );
    });
  }
  upstream = await FakeUpstream.start();
  gateway = await TestGateway.start({
    OPENAI_COMPATIBLE_BASE_URL: `${upstream.origin}/v1`,
    OPENAI_COMPATIBLE_API_KEY: OPERATOR_KEY,
    OPENAI_BASE_URL: `${upstream.origin}/v1`,
    OPENAI_API_KEY: OPERATOR_KEY,
    ANTHROPIC_BASE_URL: upstream.origin,
    ANTHROPIC_API_KEY: OPERATOR_KEY,
    GEMINI_BASE_URL: `${upstream.origin}/v1beta`,
    GEMINI_API_KEY: OPERATOR_KEY,
    CATALOG_DIR: catalog.path,
  });
  management = gateway.app.get(ManagementServer, { strict: false });
  managementUrl = await management.listen('127.0.0.1', 0);
});
beforeEach(async () => {
  logged.length = 0;
  upstream.received.length = 0;
  customer = await gateway.customer();
});
afterAll(async () => {
  jest.restoreAllMocks();
  await management.close();
  await gateway.stop();
  await upstream.stop();
  catalog.remove();
});

const refuse =
  ({ status, body }: Refusal, headers: Record<string, string> = {}): Answer =>
  (response) =>
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));

/** The stream of a dialect up to its first text, and whatever follows. */
const begin =
  (dialect: Dialect, follow: (response: Parameters<Answer>[0]) => void): Answer =>
  (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const events = goldenStream(dialect, '\n');
    const started = events.slice(0, 1 + events.findIndex(({ text }) => text !== ''));
    response.write(Buffer.concat(started.map(({ bytes }) => bytes)), () => follow(response));
  };
const inBand = (dialect: Dialect): string => {
  const { type } = IN_BAND[dialect] as { type?: string };
  return `${type === undefined ? '' : `event: ${type}\n`}data: ${JSON.stringify(IN_BAND[dialect])}\n\n`;
};

/** How often the metric of the operator's alarm has counted. */
async function alarmsOf(provider: string): Promise<number> {
  const metrics = await (await fetch(`${managementUrl}/metrics`)).text();
  const [, count] =
    new RegExp(`^gateway_credential_refused_total\\{provider="${provider}"\\} (\\d+)$`, 'm').exec(metrics) ?? [];
  return Number(count ?? 0);
}

describe.each(NEWEST_CLIENT)('%s', (_title, official) => {
  const { APIError } = official.sdk;
  type Failure = InstanceType<typeof APIError>;

  /** The error of a request, whole or streamed to its end. */
  async function failureOf(dialect: Dialect, stream: boolean): Promise<{ failure: Failure; text: string }> {
    const client = official.connect(gateway, customer.key, { maxRetries: 0 });
    const body = { model: SETUP[dialect].model, messages: [{ role: 'user' as const, content: PROMPT }] };
    let text = '';
    const read = async (): Promise<void> => {
      if (!stream) return void (await client.chat.completions.create(body));
      for await (const { choices } of await client.chat.completions.create({ ...body, stream })) {
        text += choices[0]?.delta.content ?? '';
      }
    };
    const failure: unknown = await read().catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(APIError);
    return { failure: failure as Failure, text };
  }

  async function expectNoCharge(): Promise<void> {
    const charges = (await recordsOf(gateway, customer)).map(({ charged_micro: micro }) => Number(micro));
    expect([new Set(charges), await heldMicro(gateway, customer)]).toEqual([new Set([0]), 0]);
  }

  const errorClassOf = (status: number): unknown =>
    status === 400 ? official.sdk.BadRequestError : official.sdk.InternalServerError;

  describe.each(DIALECTS)('a vendor that speaks %s', (dialect) => {
    const { provider } = SETUP[dialect];

    const cases = refusalCases(`(${PROMPT}, ${OPERATOR_KEY})`);
    const inBothForms = cases.flatMap((each) => [false, true].map((stream) => ({ ...each, stream })));

    it.each(inBothForms)(
      'raises the error of $name without a charge, and alerts the operator only if its account is refused, streamed: $stream',
      async ({ wire, stream, alarm = false, words = '', status, code }) => {
        upstream.answer = refuse(wire[dialect]);
        const alarmsBefore = await alarmsOf(provider);
        const { failure } = await failureOf(dialect, stream);
        expect(failure).toBeInstanceOf(errorClassOf(status));
        expect(failure).toMatchObject({ status, code });
        expect(failure.message).toContain(words);
        await expectNoCharge();
        const alarms = logged.filter(
          (line) => line.startsWith('["error"') && line.includes('"provider_credential_refused"'),
        );
        expect([alarms.length, (await alarmsOf(provider)) - alarmsBefore]).toEqual(alarm ? [1, 1] : [0, 0]);
      },
    );

    it('prompts and keys never appear in logs or errors of provider failures', async () => {
      for (const { wire } of cases) {
        upstream.answer = refuse(wire[dialect]);
        const { failure } = await failureOf(dialect, false);
        const shown = JSON.stringify([failure.message, failure.error, [...(failure.headers ?? [])]]);
        expect(shown).not.toContain(OPERATOR_KEY);
      }
      const reports = logged.filter((line) => /"provider_(call_failed|credential_refused)"/.test(line));
      expect(reports.length).toBeGreaterThanOrEqual(cases.length);
      const secrets = [PROMPT, OPERATOR_KEY, customer.key];
      expect(logged.filter((line) => secrets.some((secret) => line.includes(secret)))).toEqual([]);
    });

    it.each([false, true])('raises RateLimitError with its Retry-After, streamed: %s', async (stream) => {
      upstream.answer = refuse(RATE_LIMIT[dialect], dialect === 'gemini-generate' ? undefined : { 'retry-after': '7' });
      const { failure } = await failureOf(dialect, stream);
      expect(failure).toBeInstanceOf(official.sdk.RateLimitError);
      expect(failure).toMatchObject({ code: 'provider_rate_limited', error: { retry_after: 7 } });
      await expectNoCharge();
    });

    it('raises the error of an overload that its stream reports before any text, without a charge', async () => {
      upstream.answer = (response) =>
        response.writeHead(200, { 'content-type': 'text/event-stream' }).end(inBand(dialect));
      const { failure } = await failureOf(dialect, true);
      expect(failure).toMatchObject({ status: 503, code: 'provider_unavailable' });
      await expectNoCharge();
    });

    it.each<[string, string, Answer]>([
      ['reports an overload', 'stream_interrupted', begin(dialect, (response) => response.end(inBand(dialect)))],
      ['is cut', 'stream_interrupted', begin(dialect, (response) => response.destroy())],
      ['ends without a finish reason', 'provider_disconnect', begin(dialect, (response) => response.end())],
      [
        'continues as garbage',
        'stream_interrupted',
        begin(dialect, (response) => response.end('data: {"cho\n\n'.repeat(2))),
      ],
    ])('raises an error when a stream %s after its first text, and charges that text', async (_name, code, answer) => {
      upstream.answer = answer;
      const { failure, text } = await failureOf(dialect, true);
      expect([failure.code, text.length > 0]).toEqual([code, true]);
      const [record] = await recordsOf(gateway, customer);
      expect(record).toMatchObject({ error_code: code, streamed: true, usage_estimated: true });
      expect(Number(record?.charged_micro)).toBeGreaterThan(0);
      expect(await heldMicro(gateway, customer)).toBe(0);
    });

    it('closes the upstream and charges the delivered part when the client aborts a stream', async () => {
      upstream.answer = begin(dialect, () => undefined);
      const disconnected = upstream.nextDisconnect();
      const messages = [{ role: 'user' as const, content: PROMPT }];
      const stream = await official
        .connect(gateway, customer.key)
        .chat.completions.create({ model: SETUP[dialect].model, messages, stream: true });
      for await (const { choices } of stream) if (choices[0]?.delta.content) stream.controller.abort();
      await disconnected;
      const record = await soleRecordOf(gateway, customer);
      expect(record).toMatchObject({ status: 499, error_code: null, streamed: true, usage_estimated: true });
      expect(Number(record.charged_micro)).toBeGreaterThan(0);
      expect(await heldMicro(gateway, customer)).toBe(0);
    });

    it.each([false, true])(
      'raises an error for an answer that is no JSON, without a charge, streamed: %s',
      async (stream) => {
        upstream.answer = (response) =>
          response.writeHead(200, { 'content-type': 'text/html' }).end('<html>Bad gateway</html>');
        const { failure } = await failureOf(dialect, stream);
        expect(failure).toMatchObject({ status: 502, code: 'provider_error' });
        await expectNoCharge();
      },
    );
  });

  it('keeps every ledger invariant', async () => {
    expect(await gateway.violations()).toEqual([]);
  });
});
