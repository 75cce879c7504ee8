import { eventStream, formOf, json, script, transcript, transcriptStream } from '../../conformance/media-answers';
import type { CallReply, TestCustomer } from '../../harness/gateway';
import { until } from '../idempotency/keyed-gateway';
import { AudioGateway } from '../create-speech/audio-gateway';
import { formWith, wavFile } from './sound-file';

const PATH = '/v1/audio/transcriptions';
const EAR = 'local/ear';
/** Two and a half seconds are three that are paid for, at 100 micro-units each. */
const COST_MICRO = 300;

let audio: AudioGateway;
let customer: TestCustomer;

beforeAll(async () => {
  audio = await AudioGateway.start();
});
beforeEach(async () => {
  customer = await audio.gateway.customer();
  audio.upstream.answer = transcript('Hello there.', null);
});
afterAll(() => audio.stop());

function transcribe(
  fields: Record<string, string | readonly string[]> = {},
  headers: Record<string, string> = {},
  file?: Buffer,
): Promise<CallReply> {
  return audio.gateway.call(PATH, { key: customer.key, headers, body: formWith({ model: EAR, ...fields }, file) });
}

const lastForm = (): Promise<FormData> => formOf(audio.upstream.received.at(-1));

describe('a transcript', () => {
  it('is charged by the seconds that the file has, which the reply and its head name', async () => {
    const reply = await transcribe();
    expect(reply.json).toEqual({
      text: 'Hello there.',
      usage: { type: 'duration', seconds: 2.5, x_llm_cost_micro: COST_MICRO },
    });
    expect(reply.headers.get('x-llm-cost-micro')).toBe(String(COST_MICRO));
    expect(await audio.records(customer)).toMatchObject([
      { status: 200, streamed: false, seconds: 2.5, charged_micro: '300', usage_estimated: false },
    ]);
    expect(await audio.account(customer)).toEqual({ free: 10_000_000 - COST_MICRO, held: 0 });
  });

  it('costs what was measured, whatever the provider says that it has used', async () => {
    const measured = { type: 'duration', seconds: 2.5, x_llm_cost_micro: COST_MICRO };
    audio.upstream.answer = json({ text: 'Hello.', usage: { type: 'duration', seconds: 4_000 } });
    expect((await transcribe()).json.usage).toEqual(measured);
    audio.upstream.answer = transcript();
    expect((await transcribe()).json.usage).toEqual(measured);
  });

  it('costs no more than its time where nothing is rounded up', async () => {
    const reply = await transcribe({ model: 'local/deaf-to-time' }, {}, wavFile(1.2501));
    expect(reply.json.usage).toEqual({ type: 'duration', seconds: 1.25, x_llm_cost_micro: 125 });
  });

  it('hands on the file, under a name of its own, and the fields', async () => {
    const file = wavFile(1);
    await transcribe(
      { language: 'en', prompt: 'Ünï', temperature: '0.4', 'timestamp_granularities[]': [], x: '1' },
      {},
      file,
    );
    const form = await lastForm();
    const sent = form.get('file') as File;
    expect(Buffer.from(await sent.arrayBuffer()).equals(file)).toBe(true);
    expect(sent.name).toBe('audio.wav');
    expect(Object.fromEntries([...form].filter(([name]) => name !== 'file'))).toMatchObject({
      model: 'ear',
      language: 'en',
      prompt: 'Ünï',
      temperature: '0.4',
    });
    expect(form.get('x')).toBeNull();
  });

  it('as text is the text, and its cost is in the head', async () => {
    const reply = await transcribe({ response_format: 'text' });
    expect([reply.text, reply.headers.get('content-type')]).toEqual(['Hello there.\n', 'text/plain; charset=utf-8']);
    expect(reply.headers.get('x-llm-cost-micro')).toBe(String(COST_MICRO));
  });

  it.each([
    ['srt', '1\n00:00:00,000 --> 00:00:02,000\nHello there.\n\n'],
    ['vtt', 'WEBVTT\n\n00:00:00.000 --> 00:00:02.000\nHello there.\n\n'],
  ])('as %s has its times', async (format, text) => {
    const reply = await transcribe({ response_format: format });
    expect([reply.text, reply.headers.get('content-type')]).toEqual([text, 'text/plain; charset=utf-8']);
  });

  it('with all that is known of it has segments', async () => {
    const { json: reply } = await transcribe({ response_format: 'verbose_json' });
    expect(reply).toMatchObject({ task: 'transcribe', language: 'english', duration: 2.5, text: 'Hello there.' });
    expect(reply.segments).toMatchObject([{ id: 0, start: 0, end: 2, text: 'Hello there.' }]);
    expect(reply.usage).toEqual({ type: 'duration', seconds: 2.5, x_llm_cost_micro: COST_MICRO });
  });

  it.each(['timestamp_granularities', 'timestamp_granularities[]'])('has words when %s asks for them', async (name) => {
    const { json: reply } = await transcribe({ response_format: 'verbose_json', [name]: ['word', 'segment'] });
    expect(reply.words).toEqual([
      { word: 'Hello', start: 0, end: 1 },
      { word: 'there.', start: 1, end: 2 },
    ]);
    expect((await lastForm()).getAll('timestamp_granularities[]').toSorted()).toEqual(['segment', 'word']);
  });

  it('that lacks the times that were asked for is a failure, and costs nothing', async () => {
    audio.upstream.answer = json({ text: 'Hello there.' });
    const reply = await transcribe({ response_format: 'srt' });
    expect([reply.status, reply.json.error.code]).toEqual([502, 'provider_error']);
    expect(await audio.account(customer)).toEqual({ free: 10_000_000, held: 0 });
  });

  it('of a model that is paid in tokens costs what the provider counts', async () => {
    audio.upstream.answer = transcript('Hello there.');
    const { json: reply } = await transcribe({ model: 'local/heard-tokens' });
    expect(reply.usage).toEqual({
      type: 'tokens',
      input_tokens: 14,
      input_token_details: { text_tokens: 4, audio_tokens: 10 },
      output_tokens: 6,
      total_tokens: 20,
      x_llm_cost_micro: 4 + 3 * 10 + 2 * 6,
    });
    expect(await audio.records(customer)).toMatchObject([{ seconds: 2.5, input_audio: '10', charged_micro: '46' }]);
  });

  it.each<[string, object | null]>([
    ['does not count', null],
    ['counts nothing', { type: 'tokens', input_tokens: 0, output_tokens: 0 }],
  ])('of such a model is estimated, and says so, when the provider %s', async (_what, usage) => {
    audio.upstream.answer = transcript('Hello there.', usage);
    const { json: reply } = await transcribe({ model: 'local/heard-tokens' });
    expect(reply.usage).toMatchObject({ type: 'tokens', x_llm_usage_estimated: true });
    expect(reply.usage.x_llm_cost_micro).toBeGreaterThan(0);
    expect(await audio.records(customer)).toMatchObject([{ usage_estimated: true }]);
  });
});

describe('a transcript as a stream', () => {
  it('comes in deltas, and last whole, with what it cost', async () => {
    audio.upstream.answer = transcriptStream('Hello there. General.', null);
    const reply = await transcribe({ stream: 'true' });
    const events = reply.events.slice(0, -1).map((data) => JSON.parse(data));
    expect(events.slice(0, -1).map(({ delta }) => delta)).toEqual(['Hello', ' there.', ' General.']);
    expect(events.at(-1)).toEqual({
      type: 'transcript.text.done',
      text: 'Hello there. General.',
      usage: { type: 'duration', seconds: 2.5, x_llm_cost_micro: COST_MICRO },
    });
    expect(reply.headers.get('x-llm-cost-micro')).toBe(String(COST_MICRO));
    expect(await audio.records(customer)).toMatchObject([{ streamed: true, seconds: 2.5, charged_micro: '300' }]);
  });

  it('of a model that is paid in tokens ends with them', async () => {
    audio.upstream.answer = transcriptStream();
    const reply = await transcribe({ model: 'local/heard-tokens', stream: 'true' });
    const { usage } = JSON.parse(reply.events.at(-2) ?? '');
    expect(usage).toMatchObject({ type: 'tokens', total_tokens: 20, x_llm_cost_micro: 46 });
    expect(await audio.records(customer)).toMatchObject([{ charged_micro: '46', usage_estimated: false }]);
  });

  it('is not one where the model cannot', async () => {
    const reply = await transcribe({ model: 'local/deaf-to-time', stream: 'true' });
    expect(reply.json.text).toBe('Hello there.');
  });

  it('is made of a whole one by a stand-in that cannot', async () => {
    audio.upstream.answer = script(
      (response) => response.writeHead(503).end('{}'),
      (response) => response.writeHead(503).end('{}'),
      transcript(),
    );
    const routing = JSON.stringify({ models: ['local/deaf-to-time'] });
    const reply = await transcribe({ stream: 'true', routing });
    expect(reply.headers.get('x-llm-model')).toBe('local/deaf-to-time');
    const [delta, done] = reply.events.slice(0, -1).map((data) => JSON.parse(data));
    expect([delta.delta, done.text]).toEqual(['Hello there.', 'Hello there.']);
    expect((await lastForm()).get('stream')).toBeNull();
  });

  it('that breaks off says so, and costs nothing', async () => {
    audio.upstream.answer = eventStream({ type: 'transcript.text.delta', delta: 'Hello' });
    const reply = await transcribe({ stream: 'true' });
    expect(JSON.parse(reply.events.at(-2) ?? '').error.code).toBe('provider_disconnect');
    expect(await audio.account(customer)).toEqual({ free: 10_000_000, held: 0 });
  });
});

describe('a client that leaves', () => {
  /** Sends a form and hangs up when `isTime` says so. */
  async function leave(stream: string, isTime: (asking: Promise<Response>) => Promise<unknown>): Promise<void> {
    const leaving = new AbortController();
    const asking = fetch(`${audio.gateway.url}${PATH}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${customer.key}` },
      body: formWith({ model: EAR, stream }),
      signal: leaving.signal,
    });
    await isTime(asking);
    leaving.abort();
    await asking.catch(() => undefined);
    await until(async () => (await audio.records(customer)).length === 1);
  }

  it('in the middle of a stream has paid for all of the file', async () => {
    audio.upstream.answer = (response) => {
      const delta = { type: 'transcript.text.delta', delta: 'Hello' };
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(`data: ${JSON.stringify(delta)}\n\n`);
    };
    await leave('true', async (asking) => (await asking).body?.getReader().read());
    expect(await audio.records(customer)).toMatchObject([{ status: 499, charged_micro: String(COST_MICRO) }]);
    expect(await audio.account(customer)).toEqual({ free: 10_000_000 - COST_MICRO, held: 0 });
  });

  it('before a whole answer has paid nothing, and its provider is told', async () => {
    const { received } = audio.upstream;
    const before = received.length;
    audio.upstream.answer = () => undefined;
    await leave('false', () => until(() => received.length > before));
    await until(() => received.at(-1)?.brokenAtMs !== null);
    expect(await audio.account(customer)).toEqual({ free: 10_000_000, held: 0 });
  });
});

describe('a repeated form', () => {
  it.each([
    ['json', {}],
    ['srt', { response_format: 'srt' }],
    ['events', { stream: 'true' }],
  ])('for %s gets the same answer, though its boundary is another, and costs nothing', async (title, fields) => {
    audio.upstream.answer = title === 'events' ? transcriptStream() : transcript();
    const asked = audio.upstream.received.length;
    const headers = { 'idempotency-key': `again-${title}` };
    const first = await transcribe(fields, headers);
    const second = await transcribe(fields, headers);
    expect(second.headers.get('idempotent-replayed')).toBe('true');
    expect([second.text, second.headers.get('content-type')]).toEqual([first.text, first.headers.get('content-type')]);
    expect(audio.upstream.received).toHaveLength(asked + 1);
    expect(await audio.records(customer)).toHaveLength(1);
  });

  it.each<[string, Record<string, string>, Buffer]>([
    ['file', {}, wavFile(1)],
    ['field', { language: 'de' }, wavFile(2.5)],
  ])('with another %s is a conflict', async (title, fields, file) => {
    const headers = { 'idempotency-key': `another-${title}` };
    await transcribe({}, headers);
    const reply = await transcribe(fields, headers, file);
    expect(reply.json.error.code).toBe('idempotency_conflict');
  });
});

it('asks again where the first provider could not be reached, and charges once', async () => {
  audio.upstream.answer = script((response) => response.writeHead(503).end('{}'), transcript());
  const reply = await transcribe();
  expect(reply.status).toBe(200);
  expect(await audio.account(customer)).toEqual({ free: 10_000_000 - COST_MICRO, held: 0 });
});

it('leaves the books in order', async () => {
  expect(await audio.gateway.violations()).toEqual([]);
});
