import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type OpenAI from 'openai';
import type { TestCustomer, TestGateway } from '../harness/gateway';
import { NEWEST_CLIENT } from './official-client';
import { CHAT_MODELS, RelayedGateway } from './relayed-gateway';
import { heldMicro, isRecorded, recordsOf, soleRecordOf } from './traces';

const PING_MS = 100;

let gateways: RelayedGateway;
/** Its limit of silence expires in the test of it. */
let impatient: RelayedGateway;
let gateway: TestGateway;
let customer: TestCustomer;

beforeAll(async () => {
  gateways = await RelayedGateway.start({ SSE_PING_MS: String(PING_MS) });
  impatient = await RelayedGateway.start({ UPSTREAM_IDLE_TIMEOUT_MS: '2000' });
  gateway = gateways.front;
});
beforeEach(async () => {
  customer = await gateway.customer();
});
afterAll(async () => {
  await gateways.stop();
  await impatient.stop();
});

/** Silent for longer than the ping interval before each token. */
const slowly = (model: string): OpenAI.ChatCompletionCreateParamsStreaming => ({
  model,
  messages: [{ role: 'user', content: `Hi [[mock: tokens=3 drip=${PING_MS * 1.5}ms]]` }],
  stream: true,
});

describe.each(CHAT_MODELS)('%s', (model) => {
  describe.each(NEWEST_CLIENT)('%s', (_title, official) => {
    const { sdk } = official;
    const connect = (options = {}): OpenAI => official.connect(gateway, customer.key, { maxRetries: 0, ...options });
    const say = (content: string): OpenAI.ChatCompletionCreateParamsStreaming => ({
      model,
      messages: [{ role: 'user', content }],
      stream: true,
    });

    it('delivers a complete stream of 8,000 chunks', async () => {
      const stream = await connect().chat.completions.create(say('Count [[mock: chunks=8000 tokens=8000 delay=0]]'));
      let texts = 0;
      let tokens: number | undefined;
      for await (const { choices, usage } of stream) {
        if (choices[0]?.delta.content) texts++;
        tokens = usage?.completion_tokens;
      }
      expect([texts, tokens]).toEqual([8_000, 8_000]);
      const records = await recordsOf(gateway, customer);
      expect(records).toMatchObject([{ status: 200, output_text: '8000', usage_estimated: false }]);
    });

    it('ignores the pings of a slow stream', async () => {
      const stream = await connect().chat.completions.create(slowly(model));
      const finishes: string[] = [];
      let count = 0;
      for await (const { choices } of stream) {
        count++;
        if (choices[0]?.finish_reason) finishes.push(choices[0].finish_reason);
      }
      expect(finishes).toEqual(['stop']);
      expect(count).toBeGreaterThanOrEqual(5);
    });

    describe.each<[string, (stream: Stream, abort: AbortController) => void]>([
      ['an abort by signal', (_stream, abort) => abort.abort()],
      ["an abort by the stream's controller", (stream) => stream.controller.abort()],
    ])('%s in the middle of a stream', (_way, leave) => {
      it('ends the client, stops the gateway, and charges the delivered part', async () => {
        const abort = new AbortController();
        const stream = await connect().chat.completions.create(say('Count [[mock: tokens=2000 delay=5ms]]'), {
          signal: abort.signal,
        });
        let count = 0;
        for await (const _chunk of stream) if (++count === 5) leave(stream, abort);
        expect(count).toBeLessThan(500);
        await expectSettledDeparture();
      });
    });

    it('settles when the client breaks out of a stream loop', async () => {
      const stream = await connect().chat.completions.create(say('Count [[mock: tokens=2000 delay=5ms]]'));
      for await (const chunk of stream) if (chunk.choices[0]?.delta.content) break;
      await expectSettledDeparture();
    });

    it('settles when the stream helper is aborted', async () => {
      const runner = official.helpers(connect()).stream({ ...say('Count [[mock: tokens=2000 delay=5ms]]') });
      runner.on('content', () => runner.abort());
      await expect(runner.finalChatCompletion()).rejects.toThrow(sdk.APIUserAbortError);
      await expectSettledDeparture();
    });

    /** A stalled machine may process a request only after its client has disconnected: then it is sent again. */
    const giveUp = async (ask: () => Promise<unknown>): Promise<void> => {
      do await expect(ask()).rejects.toThrow(sdk.APIConnectionTimeoutError);
      while (!(await isRecorded(gateway, customer)));
    };

    it('charges nothing when the client times out before the first token', async () => {
      await giveUp(() => connect({ timeout: 1_000 }).chat.completions.create(say('Hi [[mock: hang]]')));
      const record = await soleRecordOf(gateway, customer);
      expect(record).toMatchObject({ status: 499, error_code: null, charged_micro: '0' });
      expect(await heldMicro(gateway, customer)).toBe(0);
    });

    it('charges nothing when the client times out before a whole response', async () => {
      const body = { ...say('Hi [[mock: hang]]'), stream: false } as const;
      await giveUp(() => connect({ timeout: 1_000 }).chat.completions.create(body));
      expect(await soleRecordOf(gateway, customer)).toMatchObject({ status: 499, charged_micro: '0' });
      expect(await heldMicro(gateway, customer)).toBe(0);
    });

    it.each([true, false])('detects a disconnect during admission, streamed: %s', async (stream) => {
      // Blocks the reservation, which waits for the account's row.
      const lock = await gateway.pool.connect();
      await lock.query('BEGIN');
      await lock.query('SELECT 1 FROM organization_account WHERE organization_id = $1 FOR UPDATE', [
        customer.organizationId,
      ]);
      const arrived = once(gateway.app.getHttpServer(), 'request') as Promise<[IncomingMessage, ServerResponse]>;
      const abort = new AbortController();
      const asking = connect().chat.completions.create(
        { ...say('Count [[mock: tokens=2000 delay=1ms]]'), stream },
        { signal: abort.signal },
      );
      const [, response] = await arrived;
      await gateway.untilLockWaits(1);
      const left = once(response, 'close');
      abort.abort();
      await expect(asking).rejects.toThrow(sdk.APIUserAbortError);
      await left;
      await lock.query('COMMIT');
      lock.release();
      const record = await soleRecordOf(gateway, customer);
      expect(record).toMatchObject({ status: 499, error_code: null, charged_micro: '0' });
      expect(await heldMicro(gateway, customer)).toBe(0);
    });

    it.each([
      ['reset_after=3', 'stream_interrupted'],
      ['error_after=3', 'stream_interrupted'],
      ['no_finish', 'provider_disconnect'],
    ])('raises an APIError with its code inside the stream after %s', async (script, expected) => {
      // The upstream gateway reports a missing finish as a separate error, as a vendor might.
      const code = model.startsWith('relay/') ? 'stream_interrupted' : expected;
      const { data: stream, request_id: requestId } = await connect()
        .chat.completions.create(say(`Tell me a story [[mock: ${script}]]`))
        .withResponse();
      const texts: string[] = [];
      const failure: unknown = await (async () => {
        for await (const { choices } of stream) texts.push(choices[0]?.delta.content ?? '');
      })().catch((error) => error);
      expect(failure).toBeInstanceOf(sdk.APIError);
      expect(failure).toMatchObject({ code, type: 'provider_error', error: { request_id: requestId } });
      expect(texts.join('')).not.toBe('');
      expect(await recordsOf(gateway, customer)).toMatchObject([{ status: 502, error_code: code }]);
      expect(await heldMicro(gateway, customer)).toBe(0);
    });

    it('fails the stream helper too instead of completing it', async () => {
      const runner = official.helpers(connect()).stream({ ...say('Tell me a story [[mock: reset_after=3]]') });
      const failure: unknown = await runner.finalChatCompletion().catch((error) => error);
      expect(failure).toBeInstanceOf(sdk.APIError);
      expect(failure).toMatchObject({ code: 'stream_interrupted' });
    });

    it('raises an error when the provider goes silent after its first event, and charges nothing without text', async () => {
      const { front } = impatient;
      const caller = await front.customer();
      const client = official.connect(front, caller.key, { maxRetries: 0 });
      const stream = await client.chat.completions.create(say('Hi [[mock: tokens=9 drip=9s first_token=1ms]]'));
      const failure: unknown = await (async () => {
        for await (const _chunk of stream);
      })().catch((error) => error);
      expect(failure).toBeInstanceOf(sdk.APIError);
      expect(failure).toMatchObject({ code: 'stream_interrupted' });
      expect(await recordsOf(front, caller)).toMatchObject([
        { status: 502, error_code: 'stream_interrupted', charged_micro: '0' },
      ]);
    });

    async function expectSettledDeparture(): Promise<void> {
      const record = await soleRecordOf(gateway, customer);
      expect(record).toMatchObject({ status: 499, error_code: null, streamed: true, usage_estimated: true });
      expect(Number(record.charged_micro)).toBeGreaterThan(0);
      expect(Number(record.output_text)).toBeLessThan(500);
      expect(await heldMicro(gateway, customer)).toBe(0);
    }
  });
});

it('sends pings during pauses of a slow stream', async () => {
  const { text } = await gateway.call('/v1/chat/completions', { key: customer.key, body: slowly('mock/chat-1') });
  expect(text.match(/^: ping$/gm)?.length).toBeGreaterThanOrEqual(3);
});

it('keeps every ledger invariant', async () => {
  expect([...(await gateways.violations()), ...(await impatient.violations())]).toEqual([]);
});

interface Stream {
  readonly controller: AbortController;
}
