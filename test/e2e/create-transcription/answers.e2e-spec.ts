import { eventStream, formOf, json, script, transcript, transcriptStream } from '../../conformance/media-answers';
import type { CallReply, TestCustomer } from '../../harness/gateway';
import { until } from '../idempotency/keyed-gateway';
import { AudioGateway } from '../create-speech/audio-gateway';
import { formWith, wavFile } from './sound-file';

const PATH = '/v1/audio/transcriptions';
const EAR = 'local/ear';
/** Two and a half seconds are billed as three, at 100 micro-units each. */
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
  it('is charged by the seconds of the file, which the body and headers report', async () => {
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

  it('is charged by the seconds that the provider reports, even above the hold', async () => {
    const charged = { type: 'duration', seconds: 40, x_llm_cost_micro: 4_000 };
    audio.upstream.answer = json({ text: 'Hello.', usage: { type: 'duration', seconds: 40 } });
    expect((await transcribe()).json.usage).toEqual(charged);
    audio.upstream.answer = eventStream({ type: 'transcript.text.done', text: 'Hello.', usage: charged });
    const { events } = await transcribe({ stream: 'true' });
    expect(JSON.parse(events.at(-2) ?? '').usage).toEqual(charged);
    expect(await audio.account(customer)).toEqual({ free: 10_000_000 - 8_000, held: 0 });
  });

  it('is charged by the measured seconds when the provider reports implausible ones', async () => {
    const measured = { type: 'duration', seconds: 2.5, x_llm_cost_micro: COST_MICRO };
    for (const seconds of [4_000, 0.2, 0, -3, 3, '2.5', null]) {
      audio.upstream.answer = json({ text: 'Hello.', usage: { type: 'duration', seconds } });
      expect((await transcribe()).json.usage).toEqual(measured);
    }
    audio.upstream.answer = transcript();
    expect((await transcribe()).json.usage).toEqual(measured);
  });

  it('above the hold and the balance leaves the rest uncollected', async () => {
    const poor = await audio.gateway.customer({}, 1_000n);
    audio.upstream.answer = json({ text: 'Hello.', usage: { type: 'duration', seconds: 40 } });
    const { json: reply } = await audio.gateway.call(PATH, { key: poor.key, body: formWith({ model: EAR }) });
    expect(reply.usage.x_llm_cost_micro).toBe(1_000);
    expect(await audio.account(poor)).toEqual({ free: 0, held: 0 });
  });

  it('is charged by its exact time without rounding up', async () => {
    const reply = await transcribe({ model: 'local/without-timestamps' }, {}, wavFile(1.2501));
    expect(reply.json.usage).toEqual({ type: 'duration', seconds: 1.25, x_llm_cost_micro: 125 });
  });

  it('sends the provider the file, renamed, and the fields', async () => {
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

  it('in text format is the text only, with the cost in the headers', async () => {
    const reply = await transcribe({ response_format: 'text' });
    expect([reply.text, reply.headers.get('content-type')]).toEqual(['Hello there.\n', 'text/plain; charset=utf-8']);
    expect(reply.headers.get('x-llm-cost-micro')).toBe(String(COST_MICRO));
  });

  it.each([
    ['srt', '1\n00:00:00,000 --> 00:00:02,000\nHello there.\n\n'],
    ['vtt', 'WEBVTT\n\n00:00:00.000 --> 00:00:02.000\nHello there.\n\n'],
  ])('as %s has its timestamps', async (format, text) => {
    const reply = await transcribe({ response_format: format });
    expect([reply.text, reply.headers.get('content-type')]).toEqual([text, 'text/plain; charset=utf-8']);
  });

  it('as verbose_json has segments', async () => {
    const { json: reply } = await transcribe({ response_format: 'verbose_json' });
    expect(reply).toMatchObject({ task: 'transcribe', language: 'english', duration: 2.5, text: 'Hello there.' });
    expect(reply.segments).toMatchObject([{ id: 0, start: 0, end: 2, text: 'Hello there.' }]);
    expect(reply.usage).toEqual({ type: 'duration', seconds: 2.5, x_llm_cost_micro: COST_MICRO });
  });

  it.each(['timestamp_granularities', 'timestamp_granularities[]'])('has words when %s requests them', async (name) => {
    const { json: reply } = await transcribe({ response_format: 'verbose_json', [name]: ['word', 'segment'] });
    expect(reply.words).toEqual([
      { word: 'Hello', start: 0, end: 1 },
      { word: 'there.', start: 1, end: 2 },
    ]);
    expect((await lastForm()).getAll('timestamp_granularities[]').toSorted()).toEqual(['segment', 'word']);
  });

  it('without the requested timestamps is a failure without a charge', async () => {
    audio.upstream.answer = json({ text: 'Hello there.' });
    const reply = await transcribe({ response_format: 'srt' });
    expect([reply.status, reply.json.error.code]).toEqual([502, 'provider_error']);
    expect(await audio.account(customer)).toEqual({ free: 10_000_000, held: 0 });
  });

  it("of a model priced by token is charged by the provider's count", async () => {
    audio.upstream.answer = transcript('Hello there.');
    const { json: reply } = await transcribe({ model: 'local/token-priced' });
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
  ])('of a model priced by token is estimated, and says so, when the provider %s', async (_what, usage) => {
    audio.upstream.answer = transcript('Hello there.', usage);
    const { json: reply } = await transcribe({ model: 'local/token-priced' });
    expect(reply.usage).toMatchObject({ type: 'tokens', x_llm_usage_estimated: true });
    expect(reply.usage.x_llm_cost_micro).toBeGreaterThan(0);
    expect(await audio.records(customer)).toMatchObject([{ usage_estimated: true }]);
  });
});

describe('a streamed transcript', () => {
  it('sends deltas, then the whole text with the cost', async () => {
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

  it('of a model priced by token ends with the token usage', async () => {
    audio.upstream.answer = transcriptStream();
    const reply = await transcribe({ model: 'local/token-priced', stream: 'true' });
    const { usage } = JSON.parse(reply.events.at(-2) ?? '');
    expect(usage).toMatchObject({ type: 'tokens', total_tokens: 20, x_llm_cost_micro: 46 });
    expect(await audio.records(customer)).toMatchObject([{ charged_micro: '46', usage_estimated: false }]);
  });

  it('is sent whole by a model that cannot stream', async () => {
    const reply = await transcribe({ model: 'local/without-timestamps', stream: 'true' });
    expect(reply.json.text).toBe('Hello there.');
  });

  it('is converted from a whole one by a fallback that cannot stream', async () => {
    audio.upstream.answer = script(
      (response) => response.writeHead(503).end('{}'),
      (response) => response.writeHead(503).end('{}'),
      transcript(),
    );
    const routing = JSON.stringify({ models: ['local/without-timestamps'] });
    const reply = await transcribe({ stream: 'true', routing });
    expect(reply.headers.get('x-llm-model')).toBe('local/without-timestamps');
    const [delta, done] = reply.events.slice(0, -1).map((data) => JSON.parse(data));
    expect([delta.delta, done.text]).toEqual(['Hello there.', 'Hello there.']);
    expect((await lastForm()).get('stream')).toBeNull();
  });

  it('that breaks off reports it without a charge', async () => {
    audio.upstream.answer = eventStream({ type: 'transcript.text.delta', delta: 'Hello' });
    const reply = await transcribe({ stream: 'true' });
    expect(JSON.parse(reply.events.at(-2) ?? '').error.code).toBe('provider_disconnect');
    expect(await audio.account(customer)).toEqual({ free: 10_000_000, held: 0 });
  });
});

describe('a client that disconnects', () => {
  /** Sends a form and disconnects when `isTime` returns true. */
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

  it('in the middle of a stream pays for the whole file', async () => {
    audio.upstream.answer = (response) => {
      const delta = { type: 'transcript.text.delta', delta: 'Hello' };
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(`data: ${JSON.stringify(delta)}\n\n`);
    };
    await leave('true', async (asking) => (await asking).body?.getReader().read());
    expect(await audio.records(customer)).toMatchObject([{ status: 499, charged_micro: String(COST_MICRO) }]);
    expect(await audio.account(customer)).toEqual({ free: 10_000_000 - COST_MICRO, held: 0 });
  });

  it('before a whole response pays nothing, and the provider call is canceled', async () => {
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
  ])('for %s is replayed with another boundary, without a charge', async (title, fields) => {
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
  ])('with another %s returns 409', async (title, fields, file) => {
    const headers = { 'idempotency-key': `another-${title}` };
    await transcribe({}, headers);
    const reply = await transcribe(fields, headers, file);
    expect(reply.json.error.code).toBe('idempotency_conflict');
  });
});

it('fails over when the first provider cannot be reached, and charges once', async () => {
  audio.upstream.answer = script((response) => response.writeHead(503).end('{}'), transcript());
  const reply = await transcribe();
  expect(reply.status).toBe(200);
  expect(await audio.account(customer)).toEqual({ free: 10_000_000 - COST_MICRO, held: 0 });
});

it('leaves a valid ledger', async () => {
  expect(await audio.gateway.violations()).toEqual([]);
});
