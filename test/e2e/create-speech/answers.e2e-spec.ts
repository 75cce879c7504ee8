import type { ServerResponse } from 'node:http';
import { fault, script, speech } from '../../conformance/media-answers';
import type { CallReply, TestCustomer } from '../../harness/gateway';
import { until } from '../idempotency/keyed-gateway';
import { AudioGateway } from './audio-gateway';

const PATH = '/v1/audio/speech';
const BODY = { model: 'local/voice', input: 'Hello there.', voice: 'alloy' };
const SOUND = Buffer.from(Array.from({ length: 100_000 }, (_, index) => (index * 7) % 251));

let audio: AudioGateway;
let customer: TestCustomer;

beforeAll(async () => {
  audio = await AudioGateway.start();
});
beforeEach(async () => {
  customer = await audio.gateway.customer();
  audio.upstream.answer = speech(SOUND);
});
afterAll(() => audio.stop());

function speak(fields: object = {}, headers: Record<string, string> = {}): Promise<CallReply> {
  return audio.gateway.call(PATH, { key: customer.key, headers, body: { ...BODY, ...fields } });
}

/** Starts to read a response that has not ended. */
async function listen(): Promise<ReadableStreamDefaultReader<Uint8Array>> {
  const response = await fetch(`${audio.gateway.url}${PATH}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${customer.key}`, 'content-type': 'application/json' },
    body: JSON.stringify(BODY),
  });
  return (response.body as ReadableStream<Uint8Array>).getReader();
}

describe('speech', () => {
  it("is the provider's audio byte for byte, charged by character, with the cost in its headers", async () => {
    const reply = await speak();
    expect(reply.bytes.equals(SOUND)).toBe(true);
    expect(reply.headers.get('content-type')).toBe('audio/mpeg');
    expect(reply.headers.get('x-llm-cost-micro')).toBe('180');
    expect(reply.headers.get('x-llm-model')).toBe('local/voice');
    expect(await audio.records(customer)).toMatchObject([
      {
        status: 200,
        streamed: true,
        charged_micro: '180',
        usage_estimated: false,
        characters: '12',
        output_audio: null,
      },
    ]);
    expect(await audio.account(customer)).toEqual({ free: 9_999_820, held: 0 });
  });

  it('is counted in Unicode code points', async () => {
    const reply = await speak({ input: '👩‍🚀é中' });
    expect(reply.headers.get('x-llm-cost-micro')).toBe(String(15 * 5));
  });

  it('is charged at the price of the model that speaks, even if the hold covers fallback models', async () => {
    const fallback = { routing: { models: ['local/dear'] } };
    expect((await speak(fallback)).headers.get('x-llm-cost-micro')).toBe('180');
    audio.upstream.answer = script(fault(503), fault(503), speech(SOUND));
    const reply = await speak(fallback);
    expect(reply.headers.get('x-llm-model')).toBe('local/dear');
    expect(reply.headers.get('x-llm-cost-micro')).toBe('360');
    expect(await audio.records(customer)).toMatchObject([{ charged_micro: '180' }, { charged_micro: '360' }]);
  });

  it('is not routed to a fallback that lacks the voice', async () => {
    audio.upstream.answer = fault(503);
    await speak({ voice: 'echo', routing: { models: ['local/dear'] } });
    const asked = audio.upstream.received.map(({ body }) => JSON.parse(body)).filter(({ voice }) => voice === 'echo');
    expect(asked.some(({ model }) => model === 'dear')).toBe(false);
  });

  it.each([
    ['mp3', 'audio/mpeg'],
    ['opus', 'audio/opus'],
    ['aac', 'audio/aac'],
    ['flac', 'audio/flac'],
    ['wav', 'audio/wav'],
    ['pcm', 'audio/pcm'],
  ])('as %s is %s', async (format, contentType) => {
    audio.upstream.answer = speech(SOUND, contentType);
    const reply = await speak({ model: 'local/plain', voice: 'anything', response_format: format });
    expect(reply.headers.get('content-type')).toBe(contentType);
    expect(JSON.parse(audio.upstream.received.at(-1)?.body ?? '')).toMatchObject({ response_format: format });
  });

  it('sends the provider the supported parameters only', async () => {
    await speak({ voice: 'echo', speed: 1.5, instructions: 'Whisper.', unheard_of: 1, stream_format: 'audio' });
    const asked = { model: 'voice', input: BODY.input, voice: 'echo', speed: 1.5, instructions: 'Whisper.' };
    expect(JSON.parse(audio.upstream.received.at(-1)?.body ?? '')).toEqual({ ...asked, response_format: 'mp3' });
  });

  it('treats null as absent', async () => {
    const nothing = { response_format: null, speed: null, instructions: null, stream_format: null, routing: null };
    expect((await speak(nothing)).headers.get('content-type')).toBe('audio/mpeg');
  });

  it('is streamed while it is generated', async () => {
    let upstream: ServerResponse | undefined;
    audio.upstream.answer = (response) => {
      upstream = response.writeHead(200, { 'content-type': 'audio/mpeg' });
      upstream.write(SOUND.subarray(0, 1_000));
    };
    const reader = await listen();
    const { value } = await reader.read();
    expect(value?.length).toBeGreaterThan(900);
    expect(upstream?.writableEnded).toBe(false);
    upstream?.end(SOUND.subarray(1_000));
    expect((await readAll(reader)).length + (value?.length ?? 0)).toBe(SOUND.length);
  });

  it('withholds its end until the charge is committed', async () => {
    const lock = await audio.gateway.pool.connect();
    try {
      let upstream: ServerResponse | undefined;
      audio.upstream.answer = (response) => {
        upstream = response.writeHead(200, { 'content-type': 'audio/mpeg' });
        upstream.write(SOUND.subarray(0, 1_000));
      };
      const reader = await listen();
      await reader.read();
      await lock.query('BEGIN');
      await lock.query('SELECT FROM organization_account WHERE organization_id = $1 FOR UPDATE', [
        customer.organizationId,
      ]);
      upstream?.end(SOUND.subarray(1_000, 2_000));
      let received = 0;
      let ended = false;
      const reading = (async () => {
        for (;;) {
          const { done, value } = await reader.read();
          if (done) break;
          received += value.length;
        }
        ended = true;
      })();
      await until(() => received >= 1_000 && upstream?.closed === true);
      expect({ ended, received }).toEqual({ ended: false, received: 1_000 });
      await lock.query('ROLLBACK');
      await reading;
      expect({ ended, received }).toEqual({ ended: true, received: 1_064 });
      expect(await audio.records(customer)).toMatchObject([{ charged_micro: '180' }]);
    } finally {
      // In an open transaction, if it has not ended.
      lock.release(true);
    }
  });
});

describe('speech priced by token', () => {
  const TOKENS = { model: 'local/spoken-tokens', input: 'Fourteen chars' };

  it('is charged by an estimate when the provider reports no usage, and says so; its headers show the hold', async () => {
    const reply = await speak(TOKENS);
    const [record] = await audio.records(customer);
    // 14 characters take a second, which is 20.83 audio tokens; their 14 bytes are 3.5 text tokens.
    expect(record).toMatchObject({ usage_estimated: true, input_text: '4', output_audio: '21', characters: '14' });
    expect(record?.charged_micro).toBe(String(4 + 4 * 21));
    expect(reply.headers.get('x-llm-cost-micro')).toBe(record?.charged_micro);
  });

  it('estimates more audio for slow speech and for scripts with more sound per character', async () => {
    await speak({ ...TOKENS, speed: 0.5 });
    await speak({ ...TOKENS, input: '中文中文中文中文中' });
    expect(await audio.records(customer)).toMatchObject([{ output_audio: '42' }, { output_audio: '42' }]);
  });
});

describe('speech as events', () => {
  it('contains the same bytes, then the usage and cost', async () => {
    const reply = await speak({ stream_format: 'sse' });
    expect(reply.headers.get('x-llm-cost-micro')).toBe('180');
    const events = reply.events.slice(0, -1).map((data) => JSON.parse(data));
    const pieces = events.slice(0, -1).map(({ audio: piece }) => Buffer.from(piece, 'base64'));
    expect(Buffer.concat(pieces).equals(SOUND)).toBe(true);
    expect(events.at(-1)).toEqual({
      type: 'speech.audio.done',
      usage: { input_tokens: 0, output_tokens: 0, total_tokens: 0, characters: 12, x_llm_cost_micro: 180 },
    });
  });
});

describe('a repeated request', () => {
  it.each([
    ['audio', 'audio/mpeg'],
    ['sse', 'text/event-stream; charset=utf-8'],
  ])('for %s is replayed with the same bytes and type, without a charge', async (format, contentType) => {
    const asked = audio.upstream.received.length;
    const headers = { 'idempotency-key': `again-${format}` };
    const first = await speak({ stream_format: format }, headers);
    const second = await speak({ stream_format: format }, headers);
    expect(second.headers.get('idempotent-replayed')).toBe('true');
    expect(second.bytes.equals(first.bytes)).toBe(true);
    for (const reply of [first, second]) {
      expect(reply.headers.get('content-type')).toBe(contentType);
      expect(reply.headers.get('x-llm-cost-micro')).toBe('180');
    }
    expect(audio.upstream.received).toHaveLength(asked + 1);
    expect(await audio.records(customer)).toHaveLength(1);
  });
});

it('leaves a valid ledger', async () => {
  expect(await audio.gateway.violations()).toEqual([]);
});

async function readAll(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return Buffer.concat(chunks);
    chunks.push(value);
  }
}
