import { chatRequest, providerCall } from '../../../../test/conformance/provider-call';
import { ProviderError } from '../../contract/provider-error';
import { toOpenAiChatRequest } from './chat-request';

const messages = [{ role: 'user', content: 'Hello' }];
const reduced = { model: 'upstream-model', messages };

function refusedParam(run: () => unknown): string | undefined {
  try {
    run();
  } catch (error) {
    if (error instanceof ProviderError && error.code === 'validation_failed') return error.options.param;
    throw error;
  }
  return 'not refused';
}

describe('toOpenAiChatRequest', () => {
  it('passes unknown fields on, but no gateway fields', () => {
    const request = chatRequest({
      n: 1,
      routing: { only: ['x'] },
      x_internal: true,
      temperature: 0.5,
      stop: null,
      some_new_field: { a: 1 },
      stream: true,
      stream_options: { include_usage: false },
    });
    expect(toOpenAiChatRequest(request, providerCall(), false)).toEqual({
      ...reduced,
      temperature: 0.5,
      some_new_field: { a: 1 },
    });
  });

  it('does not change the request', () => {
    const request = chatRequest({ messages: [{ role: 'developer', content: 'x', reasoning_content: 'y' }], n: 1 });
    const copy = structuredClone(request);
    toOpenAiChatRequest(request, providerCall(), true);
    expect(request).toEqual(copy);
  });

  it.each([
    ['requests usage by default', {}, { include_usage: true }],
    ['disables padding for OpenAI', { includeObfuscation: false }, { include_usage: true, include_obfuscation: false }],
    ['sends no options to upstreams that refuse them', { streamUsage: 'none' as const }, undefined],
  ])('%s', (_name, quirks, streamOptions) => {
    expect(toOpenAiChatRequest(chatRequest(), providerCall({ quirks }), true)).toEqual({
      ...reduced,
      stream: true,
      ...(streamOptions && { stream_options: streamOptions }),
    });
  });

  it.each([
    [{ max_tokens: 5 }, {}, { max_tokens: 5 }],
    [{ max_completion_tokens: 5 }, {}, { max_completion_tokens: 5 }],
    [{ max_tokens: 5, max_completion_tokens: 9 }, {}, { max_completion_tokens: 5 }],
    [{ max_tokens: 9, max_completion_tokens: 5 }, { maxTokensField: 'max_tokens' as const }, { max_tokens: 5 }],
    [{ max_tokens: 5 }, { maxTokensField: 'max_completion_tokens' as const }, { max_completion_tokens: 5 }],
    [{ max_tokens: null }, { maxTokensField: 'max_tokens' as const }, {}],
  ])('sends the output limit %j with %j as %j', (limits, quirks, expected) => {
    expect(toOpenAiChatRequest(chatRequest(limits), providerCall({ quirks }), false)).toEqual({
      ...reduced,
      ...expected,
    });
  });

  it('converts developer to system unless the upstream supports the role', () => {
    const request = chatRequest({ messages: [{ role: 'developer', content: 'Be brief' }] });
    expect(toOpenAiChatRequest(request, providerCall(), false)['messages']).toEqual([
      { role: 'system', content: 'Be brief' },
    ]);
    const call = providerCall({ quirks: { developerRole: true } });
    expect(toOpenAiChatRequest(request, call, false)['messages']).toBe(request.messages);
  });

  it('replays reasoning only where the quirk enables it', () => {
    const request = chatRequest({ messages: [{ role: 'assistant', content: 'a', reasoning_content: 'b' }] });
    expect(toOpenAiChatRequest(request, providerCall(), false)['messages']).toEqual([
      { role: 'assistant', content: 'a' },
    ]);
    const call = providerCall({ quirks: { reasoningReplay: true } });
    expect(toOpenAiChatRequest(request, call, false)['messages']).toEqual(request.messages);
  });

  it('writes null for empty text next to tool calls, and keeps other empty text', () => {
    const toolCalls = [{ id: 'call_1', type: 'function', function: { name: 'f', arguments: '{}' } }];
    const request = chatRequest({
      messages: [
        { role: 'assistant', content: '', tool_calls: toolCalls },
        { role: 'assistant', content: '' },
      ],
    });
    expect(toOpenAiChatRequest(request, providerCall(), false)['messages']).toEqual([
      { role: 'assistant', content: null, tool_calls: toolCalls },
      { role: 'assistant', content: '' },
    ]);
  });

  it('returns reasoning in the field that the upstream has for it', () => {
    const call = providerCall({ quirks: { reasoningReplay: true, reasoningField: 'reasoning' } });
    const messages = [{ role: 'assistant', content: 'Yes.', reasoning_content: 'why' }];
    const body = toOpenAiChatRequest(chatRequest({ messages }), call, false);
    expect(body['messages']).toEqual([{ role: 'assistant', content: 'Yes.', reasoning: 'why' }]);
  });

  it('leaves out fields of an answer that are null or an empty list, which upstreams refuse', () => {
    const answer = { role: 'assistant', content: 'Hi', refusal: null, function_call: null, audio: null, name: null };
    const request = chatRequest({
      messages: [
        { ...answer, tool_calls: [] },
        { ...answer, tool_calls: null },
        { role: 'assistant', content: null, reasoning_content: null, tool_calls: [{ id: 'a' }] },
      ],
    });
    const call = providerCall({ quirks: { reasoningReplay: true } });
    expect(toOpenAiChatRequest(request, call, false)['messages']).toEqual([
      { role: 'assistant', content: 'Hi' },
      { role: 'assistant', content: 'Hi' },
      { role: 'assistant', content: null, tool_calls: [{ id: 'a' }] },
    ]);
  });

  it('sends options for tools only with tools, and refuses to force a call without any', () => {
    const idle = { tools: [], tool_choice: 'auto', parallel_tool_calls: false };
    expect(toOpenAiChatRequest(chatRequest(idle), providerCall(), false)).toEqual(reduced);
    const forced = chatRequest({ tools: [], tool_choice: 'required' });
    expect(refusedParam(() => toOpenAiChatRequest(forced, providerCall(), false))).toBe('tool_choice');
  });

  it('drops fields that cannot change the meaning', () => {
    const call = providerCall({ quirks: { dropFields: ['store', 'metadata'] } });
    expect(toOpenAiChatRequest(chatRequest({ store: true, metadata: { a: 'b' } }), call, false)).toEqual(reduced);
  });

  it('refuses fields that would change the meaning, unless their value has no effect', () => {
    const call = providerCall({ quirks: { rejectFields: ['logit_bias', 'logprobs', 'parallel_tool_calls'] } });
    expect(refusedParam(() => toOpenAiChatRequest(chatRequest({ logit_bias: { 5: 1 } }), call, false))).toBe(
      'logit_bias',
    );
    const single = chatRequest({ tools: [{}], parallel_tool_calls: false });
    expect(refusedParam(() => toOpenAiChatRequest(single, call, false))).toBe('parallel_tool_calls');
    const unused = chatRequest({ logit_bias: {}, logprobs: false, parallel_tool_calls: true });
    expect(toOpenAiChatRequest(unused, call, false)).toEqual(reduced);
  });

  it('refuses service tiers that are charged at another price, also where the upstream has none', () => {
    const translate = (tier: string, call = providerCall()) =>
      toOpenAiChatRequest(chatRequest({ service_tier: tier }), call, false);
    for (const tier of ['priority', 'flex', 'fast']) expect(refusedParam(() => translate(tier))).toBe('service_tier');
    expect(translate('auto')).toEqual({ ...reduced, service_tier: 'auto' });
    const withoutTiers = providerCall({ quirks: { dropFields: ['service_tier'] } });
    expect(refusedParam(() => translate('flex', withoutTiers))).toBe('service_tier');
    expect(translate('default', withoutTiers)).toEqual(reduced);
  });

  it('drops sampling parameters where the model refuses them', () => {
    const request = chatRequest({ temperature: 0.7, top_p: 1, presence_penalty: 0, seed: 1 });
    expect(toOpenAiChatRequest(request, providerCall({ features: { sampling: false } }), false)).toEqual({
      ...reduced,
      seed: 1,
    });
  });

  it.each([
    ['tools', { tools: false }, { tools: [{ type: 'function', function: { name: 'f' } }] }],
    ['logprobs', { logprobs: false }, { logprobs: true }],
    ['response_format', { json_object: true }, { response_format: { type: 'json_schema' } }],
    ['response_format', { json_schema: false }, { response_format: { type: 'json_schema' } }],
    ['response_format', { json_object: false }, { response_format: { type: 'json_object' } }],
    ['reasoning_effort', { reasoning: ['low', 'high'] }, { reasoning_effort: 'minimal' }],
    [
      'messages[0].content[1]',
      { vision: false },
      {
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: 'a' },
              { type: 'image_url', image_url: { url: 'u' } },
            ],
          },
        ],
      },
    ],
  ])('refuses %s with %j', (param, features, fields) => {
    expect(refusedParam(() => toOpenAiChatRequest(chatRequest(fields), providerCall({ features }), false))).toBe(param);
  });

  it('leaves features that the catalogue does not mention to the upstream', () => {
    const request = chatRequest({
      tools: [{}],
      logprobs: true,
      response_format: { type: 'json_schema' },
      reasoning_effort: 'low',
    });
    expect(toOpenAiChatRequest(request, providerCall(), false)).toMatchObject({
      logprobs: true,
      reasoning_effort: 'low',
    });
  });

  it('drops fields that the upstream does not accept, and renames those that it names differently', () => {
    const quirks = { acceptFields: ['seed', 'stop'], fieldNames: { seed: 'random_seed' } };
    const request = chatRequest({ seed: 7, stop: ['.'], logit_bias: {}, later_field: 1, max_tokens: 5 });
    expect(toOpenAiChatRequest(request, providerCall({ quirks }), true)).toEqual({
      ...reduced,
      random_seed: 7,
      stop: ['.'],
      max_tokens: 5,
      stream: true,
      stream_options: { include_usage: true },
    });
  });

  it.each([
    ['tool_choice', 'auto'],
    ['parallel_tool_calls', true],
    ['presence_penalty', 0],
    ['frequency_penalty', 0],
    ['logprobs', false],
  ])('does not refuse a field whose value has no effect (%s: %j)', (field, value) => {
    const call = providerCall({ quirks: { rejectFields: [field] } });
    expect(toOpenAiChatRequest(chatRequest({ [field]: value }), call, false)).toEqual(reduced);
  });

  it('drops fields of messages that the upstream refuses', () => {
    const named = chatRequest({ messages: [{ role: 'user', name: 'ada', content: 'Hello' }] });
    const call = providerCall({ quirks: { dropMessageFields: ['name'] } });
    expect(toOpenAiChatRequest(named, call, false)).toEqual(reduced);
  });

  it('shortens ids of tool calls the same way in the call and in its result', () => {
    const called = { type: 'function', function: { name: 'f', arguments: '{}' } };
    const request = chatRequest({
      messages: [
        {
          role: 'assistant',
          content: null,
          tool_calls: [
            { id: 'call_0123456789abcdef', ...called },
            { id: 'Abc123xyz', ...called },
          ],
        },
        { role: 'tool', tool_call_id: 'call_0123456789abcdef', content: '1' },
        { role: 'tool', tool_call_id: 'Abc123xyz', content: '2' },
      ],
    });
    const body = toOpenAiChatRequest(request, providerCall({ quirks: { shortToolCallIds: true } }), false);
    const [assistant, first, second] = body['messages'] as { tool_calls: { id: string }[]; tool_call_id: string }[];
    const ids = assistant?.tool_calls.map(({ id }) => id);
    expect(ids).toEqual([expect.stringMatching(/^[a-z0-9]{9}$/), 'Abc123xyz']);
    expect([first?.tool_call_id, second?.tool_call_id]).toEqual(ids);
  });

  it.each([
    [{}, 'minimal', 'low'],
    [{}, 'high', 'high'],
    [{ reasoning: ['minimal'] }, 'minimal', 'minimal'],
  ])('with features %j sends the effort %s as %s', (features, effort, sent) => {
    const call = providerCall({ features, quirks: { reasoningEfforts: { minimal: 'low' } } });
    const request = chatRequest({ reasoning_effort: effort });
    expect(toOpenAiChatRequest(request, call, false)).toEqual({ ...reduced, reasoning_effort: sent });
  });

  it.each([
    [0, 0.01],
    [0.7, 0.7],
  ])('raises a temperature of %f to the upstream’s least', (temperature, sent) => {
    const call = providerCall({ quirks: { minTemperature: 0.01 } });
    expect(toOpenAiChatRequest(chatRequest({ temperature }), call, false)).toEqual({ ...reduced, temperature: sent });
  });
});
