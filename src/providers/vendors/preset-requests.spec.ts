import { closeProviders, configureProvider, OPENAI_PRESETS } from '../../../test/conformance/configured-provider';
import { FakeUpstream } from '../../../test/conformance/fake-upstream';
import { imageRequest } from '../../../test/conformance/media-requests';
import { chatRequest, providerCall, providerErrorOf } from '../../../test/conformance/provider-call';
import { preset, SUBJECTS } from '../../../test/conformance/subjects';
import type { ModelFeatures } from '../contract/provider-call';
import { AzureProvider } from './azure/azure.module';
import { MistralProvider } from './mistral/mistral.module';

type Fields = Readonly<Record<string, unknown>>;

let upstream: FakeUpstream;

beforeEach(async () => {
  upstream = await FakeUpstream.start();
});

afterEach(async () => {
  await closeProviders();
  await upstream.stop();
});

/** The body that a chat sends; the fake upstream's reply is no completion. */
async function sentChat(id: string, fields: Fields, features: ModelFeatures = {}): Promise<Fields> {
  const { chat, quirks } = configureProvider(id, upstream);
  await providerErrorOf(chat?.complete(chatRequest(fields), providerCall({ quirks, features })) ?? Promise.reject());
  return JSON.parse(upstream.received[0]?.body ?? '{}') as Fields;
}

const messages = [{ role: 'user', content: 'Hello' }];
const called = { id: 'abc123xyz', type: 'function', function: { name: 'f', arguments: '{}' } };
const tools = [{ type: 'function', function: { name: 'f', parameters: {} } }];
const PLAIN = { model: 'upstream-model', messages };

describe('the chat requests of presets', () => {
  it.each([
    [
      'mistral',
      { seed: 7, user: 'ada', max_completion_tokens: 5, temperature: 0, reasoning_effort: 'high', later_field: 1 },
      { random_seed: 7, max_tokens: 5, temperature: 0, reasoning_effort: 'high' },
    ],
    ['xai', { presence_penalty: 0, frequency_penalty: 0, user: 'ada' }, { user: 'ada' }],
    ['groq', { temperature: 0, messages: [{ ...messages[0], name: 'ada' }] }, { temperature: 0 }],
    [
      'groq',
      {
        verbosity: 'low',
        top_k: 40,
        prediction: { type: 'content', content: 'x' },
        user: 'ada',
        reasoning_format: 'raw',
      },
      { user: 'ada', reasoning_format: 'raw' },
    ],
    ['groq', { reasoning_effort: 'minimal' }, { reasoning_effort: 'low' }],
    ['deepseek', { seed: 7, parallel_tool_calls: true, max_completion_tokens: 5 }, { max_tokens: 5 }],
    ['moonshot', { temperature: 0.2, top_p: 0.9, presence_penalty: 1, frequency_penalty: 1 }, {}],
    ['fireworks', { reasoning_effort: 'minimal', prompt_cache_options: { ttl: '1h' } }, { reasoning_effort: 'low' }],
    ['fireworks', { reasoning_effort: 'xhigh' }, { reasoning_effort: 'high' }],
    ['ollama', { reasoning_effort: 'xhigh', tools, tool_choice: 'auto' }, { reasoning_effort: 'high', tools }],
    ['ollama', { tools, tool_choice: 'none' }, {}],
    ['zai', { tools, tool_choice: 'none', parallel_tool_calls: false }, {}],
    ['lmstudio', { tools, tool_choice: 'none' }, { tools, tool_choice: 'none' }],
    ['cohere', { prediction: {}, user: 'ada', reasoning_effort: 'max' }, { reasoning_effort: 'high' }],
    ['cohere', { reasoning_effort: 'low' }, { reasoning_effort: 'high' }],
    ['cohere', { logprobs: true }, { logprobs: true }],
    ['cohere', { reasoning_effort: 'minimal' }, { reasoning_effort: 'none' }],
    [
      'cerebras',
      { frequency_penalty: 1, logit_bias: { 1: 5 }, prediction: { type: 'content', content: 'x' }, user: 'ada' },
      { frequency_penalty: 1, logit_bias: { 1: 5 }, prediction: { type: 'content', content: 'x' }, user: 'ada' },
    ],
    ['cerebras', { verbosity: 'low', top_k: 40, store: true, min_p: 0.1 }, {}],
    ['huggingface', { verbosity: 'low', store: false, seed: 7 }, { seed: 7 }],
    ['zai', { tool_choice: 'auto', seed: 7, frequency_penalty: 0 }, {}],
    ['minimax', { temperature: 0 }, { temperature: 0.01, reasoning_split: true }],
    ['together', { logprobs: true, top_logprobs: 3 }, { logprobs: 3 }],
    ['together', { logprobs: true }, { logprobs: 1 }],
    ['together', { logprobs: false }, {}],
    ['fireworks', { verbosity: 'low', seed: 7 }, { seed: 7 }],
    ['sambanova', { seed: 7, logprobs: false }, {}],
    [
      'nvidia',
      { verbosity: 'low', prediction: { type: 'content', content: 'x' }, user: 'ada', top_k: 4 },
      { top_k: 4 },
    ],
  ])('%s: %j', async (id, fields, expected) => {
    expect(await sentChat(id, fields)).toEqual({ ...PLAIN, ...expected });
  });

  it.each([
    ['mistral', 'logprobs', true],
    ['mistral', 'logit_bias', { 1: 5 }],
    ['xai', 'presence_penalty', 1],
    ['xai', 'stop', ['.']],
    ['xai', 'search_parameters', { mode: 'on' }],
    ['xai', 'deferred', true],
    ['groq', 'logprobs', true],
    ['groq', 'top_logprobs', 2],
    ['groq', 'logit_bias', { 1: 5 }],
    ['openrouter', 'models', ['other/model']],
    ['deepinfra', 'models', ['other/model']],
    ['openrouter', 'plugins', [{ id: 'web' }]],
    ['openrouter', 'web_search_options', {}],
    ['openai', 'web_search_options', {}],
    ['openrouter', 'provider', { order: ['x'] }],
    ['perplexity', 'stop', ['.']],
    ['perplexity', 'web_search_options', { search_context_size: 'high' }],
    ['cohere', 'logit_bias', { 1: 5 }],
    ['cohere', 'top_logprobs', 2],
    ['sambanova', 'logprobs', true],
    ['sambanova', 'top_logprobs', 2],
    ['sambanova', 'logit_bias', { 1: 5 }],
    ['deepseek', 'response_format', { type: 'json_schema', json_schema: { name: 'n', schema: {} } }],
    ['zai', 'tool_choice', 'required'],
    ['ollama', 'tool_choice', 'required'],
    ['qwen', 'enable_search', true],
  ])('%s refuses %s instead of ignoring it', async (id, field, value) => {
    const { chat, quirks } = configureProvider(id, upstream);
    const request = chatRequest({ ...(field === 'tool_choice' && { tools }), [field]: value });
    const refusal = chat?.complete(request, providerCall({ quirks })) ?? Promise.reject();
    const { code, options } = await providerErrorOf(refusal);
    expect([code, options.phase, options.param]).toEqual(['validation_failed', 'connect', field]);
    expect(upstream.received).toEqual([]);
  });

  it.each(['cohere', 'deepseek', 'zai'])(
    '%s refuses to make one call at a time, which it cannot, but only with tools',
    async (id) => {
      const { chat, quirks } = configureProvider(id, upstream);
      const single = { parallel_tool_calls: false };
      const refusal = chat?.complete(chatRequest({ ...single, tools }), providerCall({ quirks })) ?? Promise.reject();
      expect((await providerErrorOf(refusal)).options.param).toBe('parallel_tool_calls');
      expect(upstream.received).toEqual([]);
      expect(await sentChat(id, single)).toEqual(PLAIN);
    },
  );

  it.each(['llamacpp', 'lmstudio'])('%s gets a choice that names tools as a word for these tools', async (id) => {
    const other = { type: 'function', function: { name: 'g', parameters: {} } };
    const named = { type: 'function', function: { name: 'f' } };
    const both = [...tools, other];
    expect(await sentChat(id, { tools: both, tool_choice: named })).toEqual({
      ...PLAIN,
      tools,
      tool_choice: 'required',
    });
    upstream.received.length = 0;
    const allowed = { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: [named] } };
    expect(await sentChat(id, { tools: both, tool_choice: allowed })).toEqual({ ...PLAIN, tools, tool_choice: 'auto' });
    upstream.received.length = 0;
    const { chat, quirks } = configureProvider(id, upstream);
    const unknown = chatRequest({ tools: [other], tool_choice: named });
    const refusal = chat?.complete(unknown, providerCall({ quirks })) ?? Promise.reject();
    const { options } = await providerErrorOf(refusal);
    expect([options.phase, options.param, upstream.received]).toEqual(['connect', 'tool_choice', []]);
  });

  it('DeepSeek is not asked to force a tool call while it thinks, as it does by default', async () => {
    const forced = { tools, tool_choice: { type: 'function', function: { name: 'f' } } };
    const { chat, quirks } = configureProvider('deepseek', upstream);
    const refusal = chat?.complete(chatRequest(forced), providerCall({ quirks })) ?? Promise.reject();
    const { options } = await providerErrorOf(refusal);
    expect([options.phase, options.param, upstream.received]).toEqual(['connect', 'tool_choice', []]);
    const plain = { ...forced, thinking: { type: 'disabled' } };
    expect(await sentChat('deepseek', plain)).toEqual({ ...PLAIN, ...plain });
    upstream.received.length = 0;
    expect(await sentChat('deepseek', { tools, tool_choice: 'auto' })).toMatchObject({ tool_choice: 'auto' });
  });

  it.each(['deepinfra', 'deepseek', 'fireworks', 'moonshot', 'openrouter', 'together', 'zai'])(
    '%s gets the reasoning of earlier turns back',
    async (id) => {
      const answered = { role: 'assistant', content: 'Hi', reasoning_content: 'why' };
      expect(await sentChat(id, { messages: [...messages, answered, ...messages] })).toMatchObject({
        messages: [messages[0], answered, messages[0]],
      });
    },
  );

  it('minimax gets the reasoning of earlier turns back as reasoning_details, separate from the text', async () => {
    const answered = { role: 'assistant', content: 'Hi' };
    const { messages: sent } = await sentChat('minimax', {
      messages: [...messages, { ...answered, reasoning_content: 'why' }, ...messages],
    });
    const details = [
      { type: 'reasoning.text', id: 'reasoning-text-1', format: 'MiniMax-response-v1', index: 0, text: 'why' },
    ];
    expect(sent).toEqual([messages[0], { ...answered, reasoning_details: details }, messages[0]]);
  });

  it.each([
    [
      ['system', 'developer', 'user'],
      ['system: 0\n\n1', 'user: 2'],
    ],
    [
      ['system', 'user', 'system', 'user'],
      ['system: 0', 'user: 1', 'user: <system>2</system>', 'user: 3'],
    ],
    [
      ['user', 'developer'],
      ['user: 0', 'user: <system>1</system>'],
    ],
  ])('minimax gets one system message, at the beginning: %j', async (roles, expected) => {
    const conversation = roles.map((role, i) => ({ role, content: i === 1 ? [{ type: 'text', text: '1' }] : `${i}` }));
    const { messages: sent } = (await sentChat('minimax', { messages: conversation })) as { messages: Fields[] };
    const textOf = (content: unknown) => (typeof content === 'string' ? content : '1');
    expect(sent.map(({ role, content }) => `${String(role)}: ${textOf(content)}`)).toEqual(expected);
  });

  it('minimax gets parameters with every function', async () => {
    const none = { type: 'object', properties: {} };
    const asked = [{ type: 'function', function: { name: 'f' } }, ...tools, { type: 'custom', custom: { name: 'g' } }];
    const { tools: sent } = await sentChat('minimax', { tools: asked });
    expect(sent).toEqual([{ type: 'function', function: { name: 'f', parameters: none } }, ...asked.slice(1)]);
  });

  it.each(['groq', 'huggingface', 'mistral', 'xai', 'zai'])('%s gets no names of authors', async (id) => {
    const body = await sentChat(id, { messages: [{ ...messages[0], name: 'ada' }] });
    expect(body['messages']).toEqual(messages);
  });

  it.each(['groq', 'cerebras', 'fireworks', 'huggingface', 'mistral'])(
    '%s gets nothing in messages and tools that it does not know',
    async (id) => {
      const cache_control = { type: 'ephemeral' };
      const part = { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } };
      const body = await sentChat(id, {
        messages: [
          { role: 'user', content: [{ ...part, cache_control }], metadata: { id: 1 } },
          { role: 'assistant', content: null, tool_calls: [{ ...called, extra_content: {} }], annotations: [] },
          { role: 'tool', tool_call_id: called.id, content: 'Done', cache_control },
          { role: 'assistant', content: null, refusal: 'No.' },
          ...messages,
        ],
        tools: [{ ...tools[0], cache_control }],
      });
      expect(body).toMatchObject({ tools });
      const lost = id === 'fireworks' && { reasoning_content: ' ' };
      expect(body['messages']).toEqual([
        { role: 'user', content: [part] },
        { role: 'assistant', content: null, tool_calls: [called], ...lost },
        { role: 'tool', tool_call_id: called.id, content: 'Done' },
        { role: 'assistant', content: 'No.', ...lost },
        ...messages,
      ]);
    },
  );

  it.each(['deepseek', 'moonshot', 'cerebras'])('%s gets text in parts as one string', async (id) => {
    const part = { type: 'text', cache_control: { type: 'ephemeral' } };
    const body = await sentChat(id, {
      messages: [
        {
          role: 'user',
          content: [
            { ...part, text: 'One' },
            { ...part, text: 'Two' },
          ],
        },
      ],
    });
    expect(body['messages']).toEqual([{ role: 'user', content: 'One\nTwo' }]);
  });

  it.each([
    ['azure', 'developer'],
    ['cohere', 'developer'],
    ['mistral', 'system'],
  ])('%s gets the instructions of developers as role %s', async (id, role) => {
    const body = await sentChat(id, { messages: [{ role: 'developer', content: 'Be brief.' }] });
    expect(body['messages']).toEqual([{ role, content: 'Be brief.' }]);
  });

  it('names the output limit as each vendor documents it', async () => {
    const named: Record<string, string[]> = { max_tokens: [], max_completion_tokens: [], 'as sent': [] };
    for (const id of OPENAI_PRESETS) {
      if (configureProvider(id, upstream).chat === undefined) continue;
      const older = Object.keys(await sentChat(id, { max_tokens: 5 }));
      upstream.received.length = 0;
      const newer = Object.keys(await sentChat(id, { max_completion_tokens: 5 }));
      upstream.received.length = 0;
      const [name = ''] = older.filter((field) => field.startsWith('max_') && newer.includes(field));
      (named[name] ?? named['as sent'])?.push(id);
    }
    expect(named).toEqual({
      max_completion_tokens: ['cerebras', 'minimax'],
      max_tokens: [
        'cohere',
        'deepinfra',
        'deepseek',
        'fireworks',
        'huggingface',
        'llamacpp',
        'lmstudio',
        'mistral',
        'moonshot',
        'nvidia',
        'ollama',
        'openai-compatible',
        'qwen',
        'sambanova',
        'together',
        'zai',
      ],
      'as sent': ['azure', 'bedrock', 'groq', 'openai', 'openrouter', 'vllm', 'xai'],
    });
  });

  it('shortens ids of tool calls for Mistral', async () => {
    const result = { role: 'tool', tool_call_id: 'call_0123456789', content: '1' };
    const body = await sentChat('mistral', { messages: [...messages, result] });
    expect(body).toMatchObject({ messages: [messages[0], { tool_call_id: expect.stringMatching(/^[a-z0-9]{9}$/) }] });
  });

  it.each([
    [{ max_tokens: 4_096 }, undefined],
    [{ max_tokens: 4_097 }, true],
    [{ max_completion_tokens: 9_000 }, true],
    [{}, undefined],
  ])('Fireworks is asked for a stream where it refuses a whole reply of that length: %j', async (limits, stream) => {
    expect((await sentChat('fireworks', limits))['stream']).toBe(stream);
  });

  it.each(['mistral', 'zai'])('%s is not asked for usage, which its streams carry anyway', async (id) => {
    const { chat, quirks } = configureProvider(id, upstream);
    await providerErrorOf(chat?.openStream(chatRequest(), providerCall({ quirks })) ?? Promise.reject());
    expect(JSON.parse(upstream.received[0]?.body ?? '')).toEqual({ ...PLAIN, stream: true });
  });

  it.each(['bedrock', 'bedrock-anthropic', 'moonshot'])('%s gets images in place of their addresses', (id) => {
    expect(configureProvider(id, upstream).quirks.inputImageUrls).toBe('inline');
  });

  it('replaces image addresses for self-hosted servers, or checks that they are public', () => {
    const handling = ['ollama', 'lmstudio', 'vllm', 'llamacpp', 'nvidia', 'openai-compatible'].map((id) => {
      const subject = SUBJECTS.find(({ definition }) => definition.id === id);
      const created = subject?.definition.create(subject.environment('http://127.0.0.1:9'));
      void created?.close();
      return [id, created?.quirks.inputImageUrls];
    });
    expect(handling).toEqual([
      ['ollama', 'inline'],
      ['lmstudio', 'inline'],
      ['vllm', 'check'],
      ['llamacpp', 'check'],
      ['nvidia', 'check'],
      ['openai-compatible', 'check'],
    ]);
  });
});

describe('the keys of presets', () => {
  it('go to Azure in a header of their own, and to the others as bearer tokens', async () => {
    await sentChat('azure', {});
    expect(upstream.received[0]?.headers).toMatchObject({ 'api-key': 'sk-test-1234' });
    expect(upstream.received[0]?.headers.authorization).toBeUndefined();
    await sentChat('mistral', {});
    expect(upstream.received[1]?.headers.authorization).toBe('Bearer sk-test-1234');
  });

  it('suffice for vendors with an address of their own, and are optional where the operator sets it', async () => {
    const { definition: hosted } = preset(new MistralProvider());
    const { definition: addressed } = preset(new AzureProvider());
    const created = [
      hosted.create({ MISTRAL_API_KEY: 'k' }),
      hosted.create({ MISTRAL_BASE_URL: 'https://x.example' }),
      addressed.create({ AZURE_BASE_URL: 'https://resource.openai.azure.com/openai/v1' }),
      addressed.create({ AZURE_API_KEY: 'k' }),
    ];
    expect(created.map((provider) => provider?.id)).toEqual(['mistral', undefined, 'azure', undefined]);
    await Promise.all(created.map((provider) => provider?.close()));
  });
});

describe('the images of presets', () => {
  it.each([
    ['azure', { size: '1024x1536' }],
    ['together', { width: 1024, height: 1536, response_format: 'base64' }],
    ['xai', { aspect_ratio: '2:3', response_format: 'b64_json' }],
  ])('%s: are requested with %j', async (id, expected) => {
    const { images, quirks } = configureProvider(id, upstream);
    const request = imageRequest({ size: '1024x1536' });
    await providerErrorOf(images?.generate(request, providerCall({ quirks })) ?? Promise.reject());
    expect(JSON.parse(upstream.received[0]?.body ?? '')).toEqual({
      model: 'upstream-model',
      prompt: 'a lighthouse',
      n: 1,
      ...expected,
    });
  });
});
