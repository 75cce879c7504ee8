import { disconnect, fault, transcript } from '../../conformance/media-answers';
import type { CallReply, TestCustomer } from '../../harness/gateway';
import { AudioGateway } from '../create-speech/audio-gateway';
import { formWith, wavFile } from './sound-file';

const PATH = '/v1/audio/transcriptions';

let audio: AudioGateway;
let customer: TestCustomer;

beforeAll(async () => {
  audio = await AudioGateway.start();
  customer = await audio.gateway.customer();
});
beforeEach(() => {
  audio.upstream.answer = transcript();
});
afterAll(() => audio.stop());

type Fields = Record<string, string | readonly string[]>;

function send(body: unknown, key = customer.key, headers: Record<string, string> = {}): Promise<CallReply> {
  return audio.gateway.call(PATH, { key, headers, body });
}
const transcribe = (fields: Fields = {}, key?: string): Promise<CallReply> =>
  send(formWith({ model: 'local/ear', ...fields }), key);

describe('400', () => {
  it.each<[string, Fields, string]>([
    ['an unknown language', { language: 'x'.repeat(33) }, 'language'],
    ['a prompt that is too long', { prompt: 'x'.repeat(32_001) }, 'prompt'],
    ['an unknown format', { response_format: 'docx' }, 'response_format'],
    ['a temperature that is too high', { temperature: '1.1' }, 'temperature'],
    ['a temperature that is not a number', { temperature: 'warm' }, 'temperature'],
    [
      'unknown timestamp granularities',
      { response_format: 'verbose_json', timestamp_granularities: ['word', 'letter'] },
      'timestamp_granularities[1]',
    ],
    ['timestamps in a format without them', { 'timestamp_granularities[]': ['word'] }, 'timestamp_granularities'],
    ['a stream that is neither true nor false', { stream: 'yes' }, 'stream'],
    ['a stream of subtitles', { stream: 'true', response_format: 'srt' }, 'response_format'],
    [
      'subtitles of a model without timestamps',
      { model: 'local/without-timestamps', response_format: 'vtt' },
      'response_format',
    ],
    [
      'verbose_json of a model without timestamps',
      { model: 'local/without-timestamps', response_format: 'verbose_json' },
      'response_format',
    ],
    [
      'words of a model without timestamps',
      { model: 'local/without-timestamps', response_format: 'verbose_json', timestamp_granularities: ['word'] },
      'timestamp_granularities',
    ],
    ['a repeated field', { language: ['en', 'de'] }, 'language'],
    ['routing that is not JSON', { routing: 'fast' }, 'routing'],
    ['an unknown field of routing', { routing: '{"host":"x"}' }, 'routing.host'],
    ['a model of another modality', { model: 'local/voice' }, 'model'],
  ])('%s', async (_title, fields, param) => {
    const asked = audio.upstream.received.length;
    const reply = await transcribe(fields);
    expect(reply.status).toBe(400);
    expect(reply.json.error).toMatchObject({ code: 'validation_failed', param });
    expect(audio.upstream.received).toHaveLength(asked);
  });

  it.each<[string, Buffer | null]>([
    ['no file', null],
    ['an empty file', Buffer.alloc(0)],
    ['a file without audio', Buffer.from('This is a letter, and not a recording of one.')],
    ['a file that ends in its header', wavFile(1).subarray(0, 30)],
    ['an empty recording', wavFile(0)],
  ])('%s', async (_title, file) => {
    const reply = await send(formWith({ model: 'local/ear' }, file));
    expect(reply.json.error).toMatchObject({ code: 'validation_failed', param: 'file' });
  });

  it('refuses a second file', async () => {
    const form = formWith({ model: 'local/ear' });
    form.append('file', new Blob(['x']), 'b.wav');
    expect((await send(form)).json.error).toMatchObject({ code: 'validation_failed', param: 'file' });
  });

  it('refuses a text in place of the file', async () => {
    const reply = await send(formWith({ model: 'local/ear', file: 'RIFF' }, null));
    expect(reply.json.error).toMatchObject({ code: 'validation_failed', param: 'file' });
  });
});

it('402 when the balance does not cover the seconds', async () => {
  const poor = await audio.gateway.customer({}, 299n);
  expect((await transcribe({}, poor.key)).json.error.code).toBe('insufficient_credits');
  const enough = await audio.gateway.customer({}, 300n);
  expect((await transcribe({}, enough.key)).status).toBe(200);
});

it('403 for a key limited to other modalities', async () => {
  const other = await audio.gateway.customer({ allowedModalities: ['speech'] });
  expect((await transcribe({}, other.key)).json.error.code).toBe('modality_not_allowed');
});

it('404 for an unknown model', async () => {
  expect((await transcribe({ model: 'local/unknown' })).json.error.code).toBe('model_not_found');
});

it('415 for JSON', async () => {
  expect((await send({ model: 'local/ear' })).json.error.code).toBe('unsupported_media_type');
});

describe('a provider that fails', () => {
  it.each<[string, Parameters<typeof fault> | 'disconnect', number, string]>([
    ['with 503', [503], 503, 'provider_unavailable'],
    ['with 429', [429], 429, 'provider_rate_limited'],
    ['with a refusal', [400, { param: 'file', type: 'invalid_request_error' }], 400, 'validation_failed'],
    ['without a response', 'disconnect', 503, 'provider_unavailable'],
  ])('%s costs nothing, streamed or not', async (_title, answer, status, code) => {
    const payer = await audio.gateway.customer();
    audio.upstream.answer = answer === 'disconnect' ? disconnect : fault(...answer);
    for (const stream of ['false', 'true']) {
      const reply = await transcribe({ stream }, payer.key);
      expect([reply.status, reply.json.error.code]).toEqual([status, code]);
    }
    expect(await audio.account(payer)).toEqual({ free: 10_000_000, held: 0 });
  });
});
