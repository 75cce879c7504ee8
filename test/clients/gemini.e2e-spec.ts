import type OpenAI from 'openai';
import { eventStream } from '../conformance/media-answers';
import { TestGateway, type TestCustomer } from '../harness/gateway';
import { PIXEL, PublicHost } from '../harness/public-host';
import { GeminiUpstream, type Part } from './gemini-upstream';
import { NEWEST_CLIENT } from './official-client';

const MODEL = 'google/gemini-3.8-flash';

let gemini: GeminiUpstream;
let host: PublicHost;
let gateway: TestGateway;
let customer: TestCustomer;

beforeAll(async () => {
  gemini = await GeminiUpstream.start();
  host = await PublicHost.start();
  gateway = await TestGateway.start({
    GEMINI_API_KEY: 'AIza-e2e',
    GEMINI_BASE_URL: `${gemini.upstream.origin}/v1beta`,
    OUTBOUND_ALLOW_CIDRS: '127.0.0.1',
  });
  customer = await gateway.customer();
});
afterAll(async () => {
  await gateway.stop();
  await gemini.upstream.stop();
  await host.stop();
});
beforeEach(() => gemini.reset());

const city = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
};
const call = (name: string, args: object, id?: string): Part => ({ functionCall: { name, args, ...(id && { id }) } });

describe.each(NEWEST_CLIENT)('%s', (_title, official) => {
  let client: OpenAI;
  beforeAll(() => {
    client = official.connect(gateway, customer.key, { maxRetries: 0 });
  });
  const ask = (content: OpenAI.ChatCompletionUserMessageParam['content'], model = MODEL) => ({
    model,
    messages: [
      { role: 'system' as const, content: 'Be brief.' },
      { role: 'user' as const, content },
    ],
  });

  it.each([
    ['mp3', 'audio/mpeg', /^\xff\xf3/],
    ['aac', 'audio/aac', /^\xff[\xf0\xf1]/],
    ['opus', 'audio/opus', /^OggS/],
    ['flac', 'audio/flac', /^fLaC/],
    ['wav', 'audio/wav', /^RIFF/],
  ] as const)('speaks %s, which Gemini does not make itself', async (format, contentType, beginning) => {
    const data = Buffer.alloc(48_000, 1).toString('base64');
    const parts = [{ inlineData: { mimeType: 'audio/L16;codec=pcm;rate=24000', data } }];
    gemini.upstream.answer = eventStream({ candidates: [{ content: { parts }, finishReason: 'STOP' }] });
    const response = await client.audio.speech.create({
      model: 'google/gemini-3.8-flash-lite-tts',
      voice: 'Kore',
      input: 'Hello',
      // MP3 is the default.
      ...(format !== 'mp3' && { response_format: format }),
    });
    expect(response.headers.get('content-type')).toBe(contentType);
    expect(Buffer.from(await response.arrayBuffer()).toString('latin1', 0, 4)).toMatch(beginning);
  });

  it('returns text, reasoning and usage with disjoint classes', async () => {
    gemini.script = () => [[{ text: 'Thinking.', thought: true }, { text: 'Grüezi!' }]];
    const completion = await client.chat.completions.create({
      ...ask('Hello'),
      temperature: 0.7,
      reasoning_effort: 'low',
    });
    expect(completion.choices[0]).toMatchObject({
      finish_reason: 'stop',
      message: { role: 'assistant', content: 'Grüezi!', reasoning_content: 'Thinking.' },
    });
    expect(completion.model).toBe(MODEL);
    expect(completion.usage).toMatchObject({
      prompt_tokens: 100,
      completion_tokens: 50,
      prompt_tokens_details: { cached_tokens: 40 },
      completion_tokens_details: { reasoning_tokens: 30 },
    });
    expect(gemini.requests[0]).toEqual({
      contents: [{ role: 'user', parts: [{ text: 'Hello' }] }],
      systemInstruction: { parts: [{ text: 'Be brief.' }] },
      generationConfig: { thinkingConfig: { thinkingLevel: 'LOW', includeThoughts: true } },
    });
  });

  it('charges cached, new and thought tokens at their prices', async () => {
    gemini.script = () => [[{ text: 'Hello' }]];
    const reply = await gateway.call('/v1/chat/completions', { key: customer.key, body: ask('Hello') });
    // 60 at 0.75, 40 at 0.075 and 50 at 3.75 dollars per million, or twice as much from 2027 on.
    expect([236, 471]).toContain(Number(reply.headers.get('x-llm-cost-micro')));
  });

  it('streams text and reasoning in chunks, and usage at the end', async () => {
    gemini.script = () => [[{ text: 'Hm.', thought: true }], [{ text: 'Grü' }], [{ text: 'ezi!' }]];
    const stream = official.helpers(client).stream({ ...ask('Hello'), stream_options: { include_usage: true } });
    let reasoning = '';
    for await (const chunk of stream) {
      reasoning += (chunk.choices[0]?.delta as { reasoning_content?: string } | undefined)?.reasoning_content ?? '';
    }
    const final = await stream.finalChatCompletion();
    expect([final.choices[0]?.message.content, reasoning, final.choices[0]?.finish_reason]).toEqual([
      'Grüezi!',
      'Hm.',
      'stop',
    ]);
    expect(final.usage).toMatchObject({ prompt_tokens: 100, completion_tokens: 50 });
  });

  const functions = ['find', 'book', 'confirm'].map((name) => ({
    type: 'function' as const,
    function: {
      name,
      description: name,
      parameters: city,
      parse: JSON.parse,
      function: ({ city: where }: { city: string }) => `${name} done in ${where}`,
    },
  }));
  /** One call after the other, each after the result of the one before; the script sees only what the gateway sends. */
  const threeSteps = (): void => {
    gemini.script = ({ contents }) => {
      const done = contents.flatMap(({ parts }) => parts).filter(({ functionResponse }) => functionResponse).length;
      const next = ['find', 'book', 'confirm'][done];
      return next === undefined
        ? [[{ text: 'All done.' }]]
        : [[{ text: 'Step. ' }], [call(next, { city: 'Oslo' }, `id-${done}`)]];
    };
  };

  it.each([false, true])(
    'runs tools over three steps with the thought signatures of the vault: stream=%s',
    async (stream) => {
      threeSteps();
      const helpers = official.helpers(client);
      const run = stream
        ? helpers.runTools({ ...ask('Book a trip.'), tools: functions, stream: true })
        : helpers.runTools({ ...ask('Book a trip.'), tools: functions });
      expect(await run.finalContent()).toBe('All done.');
      expect(gemini.requests).toHaveLength(4);
      const parts = gemini.requests[3]?.contents.flatMap((content) => content.parts) ?? [];
      const signatures = parts.flatMap(({ functionCall, thoughtSignature }) =>
        functionCall ? [thoughtSignature] : [],
      );
      expect(signatures.map((each) => Buffer.from(each ?? '', 'base64').toString())).toEqual(
        Array.from({ length: 3 }, () => expect.stringMatching(/^signature \d+$/) as string),
      );
      expect(new Set(signatures).size).toBe(3);
      expect(parts.flatMap(({ functionResponse }) => functionResponse?.response ?? [])).toEqual(
        ['find', 'book', 'confirm'].map((name) => ({ output: `${name} done in Oslo` })),
      );
    },
  );

  it.each([false, true])('runs parallel calls without ids of the vendor: stream=%s', async (stream) => {
    gemini.script = ({ contents }) =>
      contents.length === 1
        ? [[call('find', { city: 'Oslo' })], [call('find', { city: 'Rome' }), call('book', { city: 'Rome' })]]
        : [[{ text: 'Both.' }]];
    const helpers = official.helpers(client);
    const request = { ...ask('Compare.'), tools: functions };
    const run = stream ? helpers.runTools({ ...request, stream: true }) : helpers.runTools(request);
    expect(await run.finalContent()).toBe('Both.');
    const results = gemini.requests[1]?.contents.at(-1)?.parts.map(({ functionResponse }) => functionResponse);
    expect(results?.map((each) => each?.name)).toEqual(['find', 'find', 'book']);
    expect(new Set(results?.map((each) => each?.id)).size).toBe(3);
  });

  it('continues a conversation whose signatures are lost', async () => {
    gemini.script = () => [[{ text: 'Fine.' }]];
    const messages: OpenAI.ChatCompletionMessageParam[] = [
      { role: 'user', content: 'Hello' },
      {
        role: 'assistant',
        tool_calls: [{ id: 'from-elsewhere', type: 'function', function: { name: 'find', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'from-elsewhere', content: 'found' },
    ];
    const completion = await client.chat.completions.create({ model: MODEL, messages });
    expect(completion.choices[0]?.message.content).toBe('Fine.');
  });

  it('parses structured output by the JSON schema', async () => {
    gemini.script = () => [[{ text: '{"city":"Oslo"}' }]];
    const format = official.zodResponseFormat(official.z.object({ city: official.z.string() }), 'place');
    const completion = await official.helpers(client).parse({ ...ask('Where?'), response_format: format });
    expect(completion.choices[0]?.message.parsed).toEqual({ city: 'Oslo' });
    expect(gemini.requests[0]?.generationConfig).toMatchObject({
      responseMimeType: 'application/json',
      responseJsonSchema: { type: 'object', properties: { city: { type: 'string' } } },
    });
  });

  it('sends images by data URL and by https URL, and a PDF, as bytes', async () => {
    gemini.script = () => [[{ text: 'A dot.' }]];
    const base64 = PIXEL.toString('base64');
    const pdf = Buffer.from('%PDF-1.4').toString('base64');
    await client.chat.completions.create(
      ask([
        { type: 'image_url', image_url: { url: `data:image/png;base64,${base64}` } },
        { type: 'image_url', image_url: { url: host.url('/a.png') } },
        { type: 'file', file: { filename: 'a.pdf', file_data: `data:application/pdf;base64,${pdf}` } },
        { type: 'input_audio', input_audio: { data: 'UklGRg==', format: 'wav' } },
        { type: 'text', text: 'What is this?' },
      ]),
    );
    expect(gemini.requests[0]?.contents[0]?.parts).toEqual([
      { inlineData: { mimeType: 'image/png', data: base64 } },
      { inlineData: { mimeType: 'image/png', data: base64 } },
      { inlineData: { mimeType: 'application/pdf', data: pdf } },
      { inlineData: { mimeType: 'audio/wav', data: 'UklGRg==' } },
      { text: 'What is this?' },
    ]);
  });

  it('serves the responses endpoint', async () => {
    gemini.script = () => [[{ text: 'Grüezi!' }]];
    const response = await client.responses.create({ model: MODEL, input: 'Hello' });
    expect(response.output_text).toBe('Grüezi!');
  });

  it('raises the error of an unsupported parameter before anything is sent', async () => {
    const failure: unknown = await client.chat.completions
      .create({ ...ask('Hello'), logit_bias: { 5: 1 } })
      .catch((error) => error);
    expect(failure).toBeInstanceOf(official.sdk.BadRequestError);
    expect(failure).toMatchObject({ status: 400, code: 'validation_failed', param: 'logit_bias' });
    expect(gemini.requests).toEqual([]);
  });

  it('waits an hour for a daily quota, whatever its RetryInfo says', async () => {
    const details = [{ violations: [{ quotaId: 'RequestsPerDay' }] }, { retryDelay: '1s' }];
    gemini.script = () => ({
      status: 429,
      error: { code: 429, message: 'No.', status: 'RESOURCE_EXHAUSTED', details },
    });
    const failure: unknown = await client.chat.completions.create(ask('Hello')).catch((error) => error);
    expect(failure).toBeInstanceOf(official.sdk.RateLimitError);
    expect(failure).toMatchObject({ code: 'provider_rate_limited', error: { retry_after: 3600 } });
  });

  it('raises a content-policy refusal for a blocked prompt in a reply with status 200', async () => {
    gemini.upstream.answer = (response) => response.end('{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"}}');
    const failure: unknown = await client.chat.completions.create(ask('Hello')).catch((error) => error);
    expect(failure).toMatchObject({
      status: 400,
      code: 'validation_failed',
      error: { details: { reason: 'content_filtered' } },
    });
  });

  it('returns embeddings in the order of the input', async () => {
    gemini.upstream.answer = (response, { body }) => {
      const { requests } = JSON.parse(body) as { requests: { outputDimensionality: number }[] };
      const embeddings = requests.map((_request, index) => ({ values: index === 0 ? [1, 0] : [0, 1] }));
      response.end(JSON.stringify({ embeddings, usageMetadata: { promptTokenCount: 4 } }));
    };
    const list = await client.embeddings.create({
      model: 'google/gemini-embedding-2',
      input: ['a', 'b'],
      dimensions: 2,
    });
    expect(list.data.map(({ embedding }) => embedding)).toEqual([
      [1, 0],
      [0, 1],
    ]);
    expect(list.usage.prompt_tokens).toBe(4);
    expect(gemini.upstream.received[0]?.url).toBe('/v1beta/models/gemini-embedding-2:batchEmbedContents');
    const failure: unknown = await client.embeddings
      .create({ model: 'google/gemini-embedding-2', input: [1, 2] })
      .catch((error) => error);
    expect(failure).toMatchObject({ status: 400, param: 'input' });
  });
});
