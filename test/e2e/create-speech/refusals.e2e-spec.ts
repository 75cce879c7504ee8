import { fault, silence, speech } from '../../conformance/media-answers';
import type { CallReply, TestCustomer } from '../../harness/gateway';
import { AudioGateway } from './audio-gateway';

const BODY = { model: 'local/voice', input: 'Hello there.', voice: 'alloy' };

let audio: AudioGateway;
let customer: TestCustomer;

beforeAll(async () => {
  audio = await AudioGateway.start({ UPSTREAM_FIRST_TOKEN_TIMEOUT_MS: '2000' });
  customer = await audio.gateway.customer();
});
beforeEach(() => {
  audio.upstream.answer = speech();
});
afterAll(() => audio.stop());

function speak(fields: object = {}, key = customer.key, headers: Record<string, string> = {}): Promise<CallReply> {
  return audio.gateway.call('/v1/audio/speech', { key, headers, body: { ...BODY, ...fields } });
}

describe('400', () => {
  it.each<[string, object, string]>([
    ['no input', { input: undefined }, 'input'],
    ['an empty input', { input: '' }, 'input'],
    ['an input of 4,097 characters', { input: '🚀'.repeat(4_097) }, 'input'],
    ['no voice', { voice: undefined }, 'voice'],
    ['a voice that is an object', { voice: { id: 'voice_1' } }, 'voice'],
    ['a voice that the model lacks', { voice: 'nova' }, 'voice'],
    ['an unknown format', { response_format: 'ogg' }, 'response_format'],
    ['a format that the model lacks', { response_format: 'flac' }, 'response_format'],
    ['a speed below the minimum', { speed: 0.24 }, 'speed'],
    ['a speed above the maximum', { speed: 4.01 }, 'speed'],
    ['a speed for a model with fixed speed', { model: 'local/plain', speed: 2 }, 'speed'],
    [
      'instructions for a model without instructions',
      { model: 'local/plain', instructions: 'Whisper.' },
      'instructions',
    ],
    ['a stream of another kind', { stream_format: 'websocket' }, 'stream_format'],
    ['a model of another modality', { model: 'local/ear' }, 'model'],
    ['an unknown field of routing', { routing: { host: 'x' } }, 'routing.host'],
  ])('%s', async (_title, fields, param) => {
    const asked = audio.upstream.received.length;
    const reply = await speak(fields);
    expect(reply.status).toBe(400);
    expect(reply.json.error).toMatchObject({ code: 'validation_failed', param });
    expect(audio.upstream.received).toHaveLength(asked);
  });

  it('lists the available voices and formats', async () => {
    expect((await speak({ voice: 'nova' })).json.error.details).toEqual({ allowed: ['alloy', 'echo'] });
    expect((await speak({ response_format: 'opus' })).json.error.details).toEqual({ allowed: ['mp3', 'wav', 'pcm'] });
  });

  it('counts a surrogate pair as one character', async () => {
    const rich = await audio.gateway.customer();
    expect((await speak({ input: '🚀'.repeat(4_096) }, rich.key)).status).toBe(200);
    expect(await audio.records(rich)).toMatchObject([{ characters: '4096' }]);
  });
});

it('402 when the balance does not cover the characters', async () => {
  const poor = await audio.gateway.customer({}, 179n);
  const reply = await speak({}, poor.key);
  expect(reply.json.error.code).toBe('insufficient_credits');
  const enough = await audio.gateway.customer({}, 180n);
  expect((await speak({}, enough.key)).status).toBe(200);
});

it('403 for a key limited to other modalities', async () => {
  const other = await audio.gateway.customer({ allowedModalities: ['text'] });
  expect((await speak({}, other.key)).json.error.code).toBe('modality_not_allowed');
});

it('404 for an unknown model', async () => {
  expect((await speak({ model: 'local/unknown' })).json.error.code).toBe('model_not_found');
});

it('409 for another text under the same key', async () => {
  const headers = { 'idempotency-key': 'taken' };
  expect((await speak({}, customer.key, headers)).status).toBe(200);
  const reply = await speak({ input: 'Something else.' }, customer.key, headers);
  expect(reply.json.error.code).toBe('idempotency_conflict');
});

describe('a provider that fails before its first byte', () => {
  it.each<[string, Parameters<typeof fault>, number, string]>([
    ['503', [503], 503, 'provider_unavailable'],
    ['429', [429, {}, { 'retry-after': '7' }], 429, 'provider_rate_limited'],
    ['a refusal', [400, { param: 'input', type: 'invalid_request_error' }], 400, 'validation_failed'],
  ])('by %s', async (_title, answer, status, code) => {
    const payer = await audio.gateway.customer();
    audio.upstream.answer = fault(...answer);
    const reply = await speak({}, payer.key);
    expect([reply.status, reply.json.error.code]).toEqual([status, code]);
    expect(await audio.account(payer)).toEqual({ free: 10_000_000, held: 0 });
    expect(await audio.records(payer)).toMatchObject([{ status, charged_micro: '0', characters: null }]);
  });

  it("by silence, within the operator's timeout", async () => {
    audio.upstream.answer = silence;
    expect((await speak()).json.error.code).toBe('provider_timeout');
  });

  it('by ending without a byte', async () => {
    audio.upstream.answer = speech('');
    const reply = await speak();
    expect(reply.status).toBe(502);
  });

  it('by sending a document instead of audio', async () => {
    audio.upstream.answer = speech('{"error":{"message":"no"}}', 'application/json');
    expect((await speak()).status).toBe(502);
  });
});
