import { openChatChunks } from '../../chat/chat-chunks';
import { chunk, sse } from '../../../test/conformance/chat-chunks';
import { closeProviders, configureProvider } from '../../../test/conformance/configured-provider';
import { type Answer, FakeUpstream } from '../../../test/conformance/fake-upstream';
import {
  chatRequest,
  CollectingSink,
  deltaOf,
  providerCall,
  providerErrorOf,
} from '../../../test/conformance/provider-call';
import type { ChatCompletionResult } from '../contract/chat';
import type { Provider } from '../contract/provider';
import type { ProviderError } from '../contract/provider-error';

let upstream: FakeUpstream;

beforeEach(async () => {
  upstream = await FakeUpstream.start();
});

afterEach(async () => {
  await closeProviders();
  await upstream.stop();
});

function configure(id: string, answer: Answer): Provider {
  upstream.answer = answer;
  return configureProvider(id, upstream);
}

const json =
  (document: unknown, status = 200, headers: Record<string, string> = {}): Answer =>
  (response) =>
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(document));

const events =
  (bytes: string): Answer =>
  (response) =>
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end(bytes);

const completion = (fields: object, message: object = { content: 'Hi' }, finishReason = 'stop') => ({
  choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: finishReason }],
  ...fields,
});

function complete(id: string, document: unknown): Promise<ChatCompletionResult> {
  const { chat, quirks } = configure(id, json(document));
  return chat?.complete(chatRequest(), providerCall({ quirks })) ?? Promise.reject(new Error('no chat'));
}

async function stream(id: string, bytes: string): Promise<{ sink: CollectingSink; usage: object | null }> {
  const { chat, quirks } = configure(id, events(bytes));
  if (chat === undefined) throw new Error('no chat');
  const opened = await openChatChunks(chat, chatRequest({ stream: true }), providerCall({ quirks }));
  const sink = new CollectingSink();
  await opened.pipe(sink);
  return { sink, usage: opened.progress.usage };
}

function refusal(id: string, answer: Answer): Promise<ProviderError> {
  const { chat, quirks } = configure(id, answer);
  return providerErrorOf(
    chat?.complete(chatRequest(), providerCall({ quirks })) ?? Promise.reject(new Error('no chat')),
  );
}

const FINISH = chunk({}, { finish_reason: 'stop' });

describe('the usage that vendors report', () => {
  it.each([
    [
      'xai',
      { prompt_tokens: 9, completion_tokens: 50, completion_tokens_details: { reasoning_tokens: 200 } },
      { inputText: 9, outputText: 50, outputReasoning: 200 },
    ],
    [
      'deepseek',
      { prompt_tokens: 9, completion_tokens: 1, prompt_cache_hit_tokens: 6, prompt_cache_miss_tokens: 3 },
      { inputText: 3, inputCacheRead: 6, outputText: 1 },
    ],
    [
      'mistral',
      { prompt_tokens: 9, completion_tokens: 1, num_cached_tokens: 6 },
      { inputText: 3, inputCacheRead: 6, outputText: 1 },
    ],
    [
      'moonshot',
      { prompt_tokens: 9, completion_tokens: 1, cached_tokens: 6 },
      { inputText: 3, inputCacheRead: 6, outputText: 1 },
    ],
  ])('of %s becomes disjoint classes', async (id, usage, expected) => {
    expect((await complete(id, completion({ usage }))).usage).toMatchObject(expected);
  });

  it.each([
    ['groq', { ...FINISH, x_groq: { usage: { prompt_tokens: 9, completion_tokens: 1 } } }],
    ['moonshot', chunk({}, { finish_reason: 'stop', usage: { prompt_tokens: 9, completion_tokens: 1 } })],
  ])('of %s is read from its own place in streams', async (id, finish) => {
    const { usage } = await stream(id, sse(chunk({ content: 'Hi' }), finish, '[DONE]'));
    expect(usage).toMatchObject({ inputText: 9, outputText: 1 });
  });

  it('of xAI is read from the last chunk, not added up', async () => {
    const usage = (tokens: number) => ({ usage: { prompt_tokens: 9, completion_tokens: tokens } });
    const bytes = sse({ ...chunk({ content: 'Hi' }), ...usage(1) }, { ...FINISH, ...usage(2) }, '[DONE]');
    expect((await stream('xai', bytes)).usage).toMatchObject({ inputText: 9, outputText: 2 });
  });
});

describe('the answers of vendors', () => {
  it('of Azure begin with the first real chunk, after the results of the prompt filter', async () => {
    const filtered = { id: '', model: '', object: '', created: 0, choices: [], prompt_filter_results: [{}] };
    const stray = { ...FINISH, choices: [{ index: 0, content_filter_results: {}, finish_reason: null }] };
    const { sink } = await stream('azure', sse(filtered, chunk({ content: 'Hi' }), stray, FINISH, '[DONE]'));
    expect(sink.chunks).toHaveLength(2);
    expect([sink.chunks[0]?.['id'], sink.text]).toEqual(['chatcmpl-up', 'Hi']);
    expect(sink.output.toString()).not.toContain('filter_results');
  });

  it.each([
    ['azure', 'stop'],
    ['groq', 'tool_calls'],
  ])('of %s with tool calls and the reason stop finish with %s', async (id, expected) => {
    const call = { id: 'call_1', type: 'function', function: { name: 'f', arguments: '{}' } };
    const { body } = await complete(id, completion({}, { content: null, tool_calls: [call] }));
    expect(body.choices).toMatchObject([{ finish_reason: expected }]);
  });

  it('of Mistral keep reasoning and text separate', async () => {
    const content = [
      { type: 'thinking', thinking: [{ type: 'text', text: 'Hm' }] },
      { type: 'text', text: 'Hi' },
    ];
    const { body } = await complete('mistral', completion({}, { content }));
    expect(body.choices).toMatchObject([{ message: { content: 'Hi', reasoning_content: 'Hm' } }]);
  });

  it.each(['groq', 'cerebras', 'vllm', 'openrouter'])('of %s name their reasoning reasoning_content', async (id) => {
    const { body } = await complete(id, completion({}, { content: 'Hi', reasoning: 'Hm' }));
    expect(body.choices).toMatchObject([{ message: { content: 'Hi', reasoning_content: 'Hm' } }]);
    expect(JSON.stringify(body)).not.toContain('"reasoning"');
  });

  describe('of MiniMax', () => {
    const details = (text: string) => [{ type: 'reasoning.text', format: 'MiniMax-response-v1', index: 0, text }];

    it.each([{ reasoning_details: details('Hm') }, { reasoning_content: 'Hm', reasoning_details: details('Hm') }])(
      'have their reasoning once, as reasoning_content: %j',
      async (reasoning) => {
        const { body, outputBytes } = await complete('minimax', completion({}, { content: 'Hi', ...reasoning }));
        expect(body.choices).toMatchObject([{ message: { content: 'Hi', reasoning_content: 'Hm' } }]);
        expect(JSON.stringify(body)).not.toContain('reasoning_details');
        expect(outputBytes).toBe(4);
      },
    );

    it('stream their reasoning in pieces', async () => {
      const pieces = ['The', ' user', ' asks'].map((text) => chunk({ reasoning_details: details(text) }));
      const { sink } = await stream('minimax', sse(...pieces, chunk({ content: 'Hi' }), FINISH, '[DONE]'));
      expect(sink.chunks.map((each) => deltaOf(each)['reasoning_content'] ?? '').join('')).toBe('The user asks');
      expect(sink.text).toBe('Hi');
      expect(sink.output.toString()).not.toContain('reasoning_details');
    });
  });

  describe('of Together with log probabilities', () => {
    const content = [
      {
        token: 'H',
        logprob: -0.5,
        bytes: [72],
        top_logprobs: [
          { token: 'H', logprob: -0.5, bytes: [72] },
          { token: 'é', logprob: -1, bytes: [195, 169] },
        ],
      },
      { token: 'i', logprob: -0.1, bytes: [105], top_logprobs: [{ token: 'i', logprob: -0.1, bytes: [105] }] },
    ];
    const lists = {
      tokens: ['H', 'i'],
      token_logprobs: [-0.5, -0.1],
      token_ids: [39, 72],
      top_logprobs: [{ é: -1, H: -0.5 }, { i: -0.1 }],
    };

    it.each([
      ['older', lists],
      ['current', { content, refusal: null }],
    ])('have them in the format of the client, whole and streamed: %s format', async (_name, logprobs) => {
      const whole = completion({});
      Object.assign(whole.choices[0] ?? {}, { logprobs });
      const { body } = await complete('together', whole);
      expect(body.choices).toMatchObject([{ logprobs: { content, refusal: null } }]);
      const { sink } = await stream('together', sse(chunk({ content: 'Hi' }, { logprobs }), FINISH, '[DONE]'));
      expect(sink.chunks[0]).toMatchObject({ choices: [{ logprobs: { content, refusal: null } }] });
    });

    it('without alternatives have an empty list of them', async () => {
      const { tokens, token_logprobs } = lists;
      const logprobs = { tokens, token_logprobs };
      const { sink } = await stream('together', sse(chunk({ content: 'Hi' }, { logprobs }), FINISH, '[DONE]'));
      const bare = content.map((token) => ({ ...token, top_logprobs: [] }));
      expect(sink.chunks[0]).toMatchObject({ choices: [{ logprobs: { content: bare } }] });
    });

    // https://github.com/managedcode/together-dotnet and older SDKs read a number from chunks.
    it('may have a number for the only token of a chunk', async () => {
      const bytes = sse(chunk({ content: 'H' }, { logprobs: -0.5 }), chunk({ content: 'i' }), FINISH, '[DONE]');
      const { sink } = await stream('together', bytes);
      const token = { token: 'H', logprob: -0.5, bytes: [72], top_logprobs: [] };
      expect(sink.chunks[0]).toMatchObject({ choices: [{ logprobs: { content: [token] } }] });
      expect(sink.text).toBe('Hi');
    });
  });

  it.each([
    [['<think>why</think>', '\n\nHi', ' there'], 'why', 'Hi there'],
    [['</thi', 'nk>', 'Hi', ' there'], undefined, 'Hi there'],
    [['Hi', ' </think>'], undefined, 'Hi </think>'],
  ])('of MiniMax M3 may begin with reasoning in the text: %j', async (texts, reasoning, content) => {
    const { body } = await complete('minimax', completion({}, { content: texts.join('') }));
    expect(body.choices).toMatchObject([{ message: { content } }]);
    const chunks = texts.map((text) => chunk({ content: text }));
    const { sink } = await stream('minimax', sse(...chunks, FINISH, '[DONE]'));
    const deltas = sink.chunks.map(deltaOf);
    const joined = (field: string) => deltas.map((delta) => delta[field] ?? '').join('');
    expect([joined('content'), joined('reasoning_content')]).toEqual([content, reasoning ?? '']);
    const [choice] = body.choices as [{ message: Record<string, unknown> }];
    expect(choice.message['reasoning_content']).toBe(reasoning);
  });

  it.each([
    ['Bedrock', 'GPT OSS', 'reasoning', ['<reasoning>Say</reasoning>', '<reasoning> hi</reasoning>', 'Hi']],
    ['Cerebras', 'Qwen', 'think', ['<think>Say', ' hi</think>', 'Hi']],
    ['Groq', 'Qwen', 'think', ['<thi', 'nk>Say hi</think>\n\n', 'Hi']],
  ])('of %s keep the reasoning of %s, which comes within the text, apart from it', async (name, _model, tag, texts) => {
    const id = name.toLowerCase();
    const { body } = await complete(id, completion({}, { content: `<${tag}>Say hi</${tag}>Hi` }));
    expect(body.choices).toMatchObject([{ message: { content: 'Hi', reasoning_content: 'Say hi' } }]);
    const { sink } = await stream(id, sse(...texts.map((text) => chunk({ content: text })), FINISH, '[DONE]'));
    expect(sink.text).toBe('Hi');
    expect(sink.chunks.map((each) => deltaOf(each)['reasoning_content'] ?? '').join('')).toBe('Say hi');
  });

  it.each([
    ['together', 'eos', 'stop'],
    ['mistral', 'model_length', 'length'],
    ['zai', 'sensitive', 'content_filter'],
  ])('of %s may finish with %s', async (id, reason, expected) => {
    const { body } = await complete(id, completion({}, { content: 'Hi' }, reason));
    expect(body.choices).toMatchObject([{ finish_reason: expected }]);
  });

  it.each([
    ['deepseek', 'insufficient_system_resource'],
    ['zai', 'network_error'],
    ['vllm', 'abort'],
  ])('of %s have failed when they finish with %s', async (id, reason) => {
    const { code, options } = await refusal(id, json(completion({}, { content: 'Hi' }, reason)));
    expect([code, options.fallback]).toEqual(['provider_error', true]);
  });

  it.each([
    ['deepseek', ': keep-alive\n\n'],
    ['openrouter', ': OPENROUTER PROCESSING\n\n'],
  ])('of %s may pause with comments', async (id, comment) => {
    const { sink } = await stream(id, comment + sse(chunk({ content: 'Hi' })) + comment + sse(FINISH, '[DONE]'));
    expect(sink.text).toBe('Hi');
  });
});

describe('the refusals of vendors', () => {
  it.each([
    [
      'deepseek',
      402,
      { error: { message: 'Insufficient Balance', type: 'unknown_error', code: 'invalid_request_error' } },
    ],
    ['openrouter', 402, { error: { code: 402, message: 'Insufficient credits' } }],
    [
      'moonshot',
      429,
      { error: { type: 'exceeded_current_quota_error', message: 'suspended due to insufficient balance' } },
    ],
    ['zai', 429, { error: { code: '1113', message: 'Your account is in arrears, please recharge and try again' } }],
    ['zai', 429, { error: { code: '1121', message: 'Account has irregular activities and has been locked' } }],
    ['qwen', 400, { error: { code: 'Arrearage', type: 'Arrearage', message: 'Access denied' } }],
    ['minimax', 500, { type: 'error', error: { type: 'api_error', message: 'insufficient balance (1008)' } }],
    ['xai', 400, { code: 'Client specified an invalid argument', error: 'Incorrect API key provided: xa***' }],
    [
      'fireworks',
      412,
      {
        error: {
          message: 'Account acme is suspended, possibly due to reaching the monthly spending limit or failure to pay.',
          param: null,
          code: 'PRECONDITION_FAILED',
          type: 'error',
        },
      },
    ],
  ])('%s: %i for the account is no fault of the client', async (id, status, document) => {
    const { code, options } = await refusal(id, json(document, status));
    expect([code, options.credentialRefused, options.fallback]).toEqual(['provider_error', true, true]);
  });

  it.each([
    [
      'openrouter',
      403,
      { error: { code: 403, message: 'Flagged', metadata: { reasons: ['violence'], flagged_input: 'x' } } },
    ],
    [
      'azure',
      400,
      { error: { code: 'content_filter', message: 'Filtered', innererror: { code: 'ResponsibleAIPolicyViolation' } } },
    ],
    ['qwen', 400, { error: { code: 'data_inspection_failed', message: 'Input may contain inappropriate content' } }],
    ['deepseek', 400, { error: { message: 'Content Exists Risk', type: 'invalid_request_error' } }],
    [
      'zai',
      400,
      { error: { code: '1301', message: 'System detected potentially unsafe or sensitive content in input' } },
    ],
  ])('%s: %i for the content reaches the client as such', async (id, status, document) => {
    const { code, options } = await refusal(id, json(document, status));
    expect([code, options.credentialRefused, options.details]).toMatchObject([
      'validation_failed',
      undefined,
      { reason: 'content_filtered' },
    ]);
  });

  it.each([
    ['You exceeded your current quota, please check your plan and billing details.', 'provider_rate_limited'],
    ['Allocated quota exceeded, please increase your quota limit.', 'provider_rate_limited'],
    ['Free allocated quota exceeded.', 'provider_error'],
  ])('Qwen: a quota of tokens per minute refills, unless it is free: %s', async (message, expected) => {
    const error = { message, type: 'insufficient_quota', param: null, code: 'insufficient_quota' };
    expect((await refusal('qwen', json({ error }, 429))).code).toBe(expected);
  });

  // https://docs.cohere.com/v2/reference/errors
  it.each([
    'invalid request: message must be at least 1 token long or tool results must be specified.',
    'tool call id not found in previous tool calls',
    'system turn must be the first in the list',
    'required field name not found in properties',
  ])('Cohere: a refused request has nothing but a message: %s', async (message) => {
    const { code, options } = await refusal('cohere', json({ id: 'x', message }, 400));
    expect([code, options.fallback]).toEqual(['validation_failed', false]);
    expect(options.details?.['provider_message']).toBe(message);
  });

  it.each([
    ['1214', 'The messages parameter is illegal. Please check the documentation.', /invalid/],
    ['1210', 'Invalid API parameter, please check the documentation.', /invalid/],
    ['1261', 'Prompt exceeds max length', /maximum context length/],
  ])('Z.ai: code %s is a fault of the request', async (number, message, expected) => {
    const { code, options, message: text } = await refusal('zai', json({ error: { code: number, message } }, 400));
    expect([code, options.fallback, text]).toEqual(['validation_failed', false, expect.stringMatching(expected)]);
  });

  it('Mistral: the field of a refused request is named, although the list is inside the message', async () => {
    const detail = [{ type: 'extra_forbidden', loc: ['body', 'later'], msg: 'Extra inputs are not permitted' }];
    const document = { object: 'error', message: { detail }, type: 'invalid_request_error', param: null, code: null };
    const { code, options } = await refusal('mistral', json(document, 422));
    expect([code, options.param]).toEqual(['validation_failed', 'later']);
  });

  it('OpenRouter: numeric codes inside a reply count as the status', async () => {
    const { code } = await refusal('openrouter', json({ error: { code: 429, message: 'Rate limited' } }));
    expect(code).toBe('provider_rate_limited');
  });

  it.each([
    [429, { type: 'too_many_tokens_error', code: 'token_quota_exceeded' }, 'provider_rate_limited'],
    [503, { type: 'model_error', code: 'model_busy' }, 'provider_unavailable'],
    [400, { type: 'invalid_request_error', code: 'wrong_api_format' }, 'validation_failed'],
  ])('Cerebras: an error in a stream states its status %i beside it', async (status_code, error, expected) => {
    const { code } = await providerErrorOf(stream('cerebras', sse({ error, status_code }, '[DONE]')));
    expect(code).toBe(expected);
  });

  it.each([
    ['{"error":{"type":"invalid_request_error","message":"At most 1 image per prompt."}}', /invalid/],
    ["This model's maximum context length is 131072 tokens.", /maximum context length/],
  ])('OpenRouter: the reason of a host behind it is read: %s', async (raw, expected) => {
    const error = { code: 400, message: 'Provider returned error', metadata: { raw, provider_name: 'X' } };
    const { code, options, message } = await refusal('openrouter', json({ error }, 400));
    expect([code, options.fallback, message]).toEqual(['validation_failed', false, expect.stringMatching(expected)]);
  });

  it('OpenRouter: numeric codes inside a stream chunk count as the status', async () => {
    const failed = { ...chunk({ content: '' }, { finish_reason: 'error' }), error: { code: 502, message: 'down' } };
    const { code } = await providerErrorOf(stream('openrouter', sse(failed, '[DONE]')));
    expect(code).toBe('provider_unavailable');
  });
});
