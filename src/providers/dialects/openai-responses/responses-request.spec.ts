import type { ResponseCreateParams } from 'openai/resources/responses/responses';
import { chatRequest, providerCall } from '../../../../test/conformance/provider-call';
import type { ChatMessage, ChatRequest } from '../../contract/chat';
import type { ProviderCall } from '../../contract/provider-call';
import { ProviderError } from '../../contract/provider-error';
import type { EarlierSteps, Step } from './reasoning-state';
import { toResponsesRequest } from './responses-request';

const NO_STEPS: EarlierSteps = new Map();
const REASONS = { reasoning: ['none', 'low', 'high'], sampling: false };
const CALL = providerCall({ features: REASONS, quirks: { developerRole: true, includeObfuscation: false } });
const weather = {
  type: 'function',
  function: { name: 'weather', description: 'Weather in a city', parameters: { type: 'object' }, strict: true },
};
const toolCall = (id: string, name = 'weather') => ({ id, type: 'function', function: { name, arguments: '{"a":1}' } });

const convert = (request: Partial<ChatRequest>, call: ProviderCall = CALL, earlier = NO_STEPS) =>
  toResponsesRequest(chatRequest(request), call, null, earlier, false);
const inputOf = (messages: readonly ChatMessage[], earlier?: EarlierSteps, call?: ProviderCall) =>
  convert({ messages }, call, earlier)['input'];

function refusalOf(request: Partial<ChatRequest>, call?: ProviderCall): string | undefined {
  try {
    convert(request, call);
  } catch (error) {
    if (error instanceof ProviderError && error.code === 'validation_failed') return error.options.param;
    throw error;
  }
  return 'not refused';
}

it('converts a conversation with tools, an image, a file and structured output', () => {
  const schema = { type: 'object', properties: { coat: { type: 'boolean' } } };
  const request = chatRequest({
    messages: [
      { role: 'developer', content: 'Be brief.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'A coat?' },
          { type: 'image_url', image_url: { url: 'https://example.com/sky.png' } },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,AA', detail: 'low' } },
          { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,AA' } },
        ],
      },
      { role: 'assistant', content: 'I look.', reasoning_content: 'dropped', tool_calls: [toolCall('call_1')] },
      { role: 'tool', tool_call_id: 'call_1', content: [{ type: 'text', text: 'rain' }] },
    ],
    max_completion_tokens: 500,
    tools: [
      weather,
      { type: 'function', function: { name: 'now' } },
      {
        type: 'custom',
        custom: { name: 'sql', format: { type: 'grammar', grammar: { syntax: 'lark', definition: 'x' } } },
      },
    ],
    tool_choice: { type: 'function', function: { name: 'weather' } },
    parallel_tool_calls: false,
    response_format: { type: 'json_schema', json_schema: { name: 'coat', schema } },
    verbosity: 'low',
    reasoning_effort: 'high',
    service_tier: 'default',
    prompt_cache_key: 'k',
    safety_identifier: 's',
    metadata: { a: 'b' },
    // Without an effect on the meaning, or not for this model.
    seed: 7,
    store: true,
    temperature: 0.2,
    modalities: ['text'],
    prediction: { type: 'content', content: 'x' },
    stream_options: { include_usage: true },
    n: 1,
  });
  const expected: ResponseCreateParams = {
    model: 'upstream-model',
    input: [
      { type: 'message', role: 'developer', content: 'Be brief.' },
      {
        type: 'message',
        role: 'user',
        content: [
          { type: 'input_text', text: 'A coat?' },
          { type: 'input_image', image_url: 'https://example.com/sky.png', detail: 'auto' },
          { type: 'input_image', image_url: 'data:image/png;base64,AA', detail: 'low' },
          { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,AA' },
        ],
      },
      { type: 'message', role: 'assistant', content: 'I look.' },
      { type: 'function_call', call_id: 'call_1', name: 'weather', arguments: '{"a":1}' },
      { type: 'function_call_output', call_id: 'call_1', output: [{ type: 'input_text', text: 'rain' }] },
    ],
    store: false,
    max_output_tokens: 500,
    tools: [
      {
        type: 'function',
        name: 'weather',
        description: 'Weather in a city',
        parameters: { type: 'object' },
        strict: true,
      },
      { type: 'function', name: 'now', parameters: { type: 'object', properties: {} }, strict: false },
      { type: 'custom', name: 'sql', format: { type: 'grammar', syntax: 'lark', definition: 'x' } },
    ],
    tool_choice: { type: 'function', name: 'weather' },
    parallel_tool_calls: false,
    text: { format: { type: 'json_schema', name: 'coat', schema, strict: false }, verbosity: 'low' },
    reasoning: { effort: 'high' },
    service_tier: 'default',
    prompt_cache_key: 'k',
    safety_identifier: 's',
    metadata: { a: 'b' },
    include: ['reasoning.encrypted_content'],
    stream: true,
    stream_options: { include_obfuscation: false },
  };
  expect(toResponsesRequest(request, CALL, null, NO_STEPS, true)).toEqual(expected);
});

it('does not change the request', () => {
  const request = chatRequest({ messages: [{ role: 'developer', content: 'x' }], tools: [weather] });
  const copy = structuredClone(request);
  toResponsesRequest(request, providerCall(), null, NO_STEPS, true);
  expect(request).toEqual(copy);
});

it('sends sampling parameters and log probabilities to models that take them', () => {
  const request = { temperature: 0.2, top_p: 0.5, presence_penalty: 0, logprobs: true, top_logprobs: 3 };
  const expected: ResponseCreateParams = {
    model: 'upstream-model',
    input: [{ type: 'message', role: 'user', content: 'Hello' }],
    store: false,
    temperature: 0.2,
    top_p: 0.5,
    top_logprobs: 3,
    include: ['message.output_text.logprobs'],
  };
  expect(convert(request, providerCall())).toEqual(expected);
});

it.each<[unknown, ResponseCreateParams['tool_choice']]>([
  ['required', 'required'],
  [
    { type: 'custom', custom: { name: 'sql' } },
    { type: 'custom', name: 'sql' },
  ],
  [
    { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: [{ type: 'function', function: { name: 'f' } }] } },
    { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'f' }] },
  ],
])('converts the tool choice %j', (choice, expected) => {
  expect(convert({ tools: [weather], tool_choice: choice })['tool_choice']).toEqual(expected);
});

it.each<[unknown, NonNullable<ResponseCreateParams['text']>['format']]>([
  [{ type: 'text' }, { type: 'text' }],
  [{ type: 'json_object' }, { type: 'json_object' }],
  [
    { type: 'json_schema', json_schema: { name: 'a', description: 'b', strict: true } },
    { type: 'json_schema', name: 'a', description: 'b', schema: { type: 'object' }, strict: true },
  ],
])('converts the response format %j', (format, expected) => {
  expect(convert({ response_format: format })['text']).toEqual({ format: expected });
});

it.each([
  [
    'where the deployment enables them',
    { reasoningSummary: 'auto' as const },
    'high',
    { effort: 'high', summary: 'auto' },
  ],
  ['without an effort of the client', { reasoningSummary: 'auto' as const }, undefined, { summary: 'auto' }],
  ['not with effort none', { reasoningSummary: 'auto' as const }, 'none', { effort: 'none' }],
  ['not by default', {}, undefined, undefined],
])('requests summaries of the reasoning %s', (_name, quirks, effort, expected) => {
  const call = providerCall({ features: REASONS, quirks });
  expect(convert({ reasoning_effort: effort }, call)['reasoning']).toEqual(expected);
});

it('requests neither encrypted reasoning nor summaries of a model that does not reason', () => {
  const body = convert({ tools: [weather] }, providerCall({ quirks: { reasoningSummary: 'auto' } }));
  expect(body).not.toHaveProperty('include');
  expect(body).not.toHaveProperty('reasoning');
});

it('converts calls and results of custom tools, and refusals', () => {
  const custom = { id: 'call_2', type: 'custom', custom: { name: 'sql', input: 'select 1' } };
  expect(
    inputOf([
      { role: 'assistant', content: null, refusal: 'No.' },
      {
        role: 'assistant',
        content: [
          { type: 'refusal', refusal: 'Still ' },
          { type: 'text', text: 'no.' },
        ],
      },
      { role: 'assistant', content: '', tool_calls: [toolCall('call_1'), custom] },
      { role: 'tool', tool_call_id: 'call_2', content: '1' },
      { role: 'tool', tool_call_id: 'call_1', content: 'rain' },
    ]),
  ).toEqual([
    { type: 'message', role: 'assistant', content: 'No.' },
    { type: 'message', role: 'assistant', content: 'Still no.' },
    { type: 'function_call', call_id: 'call_1', name: 'weather', arguments: '{"a":1}' },
    { type: 'custom_tool_call', call_id: 'call_2', name: 'sql', input: 'select 1' },
    { type: 'custom_tool_call_output', call_id: 'call_2', output: '1' },
    { type: 'function_call_output', call_id: 'call_1', output: 'rain' },
  ] satisfies ResponseCreateParams['input']);
});

it('sends developer messages as system messages to upstreams without the role', () => {
  expect(inputOf([{ role: 'developer', content: 'x' }], undefined, providerCall())).toEqual([
    { type: 'message', role: 'system', content: 'x' },
  ]);
});

describe('reasoning of earlier answers', () => {
  const think = (sealed: string): Step => ({ type: 'reasoning', summary: [], encrypted_content: sealed });
  const answer: ChatMessage = { role: 'assistant', content: 'I look.', tool_calls: [toolCall('a'), toolCall('b')] };
  const call = (id: string) => ({ type: 'function_call', call_id: id, name: 'weather', arguments: '{"a":1}' });
  const text = { type: 'message', role: 'assistant', content: 'I look.' };
  const stepsOf = (...steps: Step[]): EarlierSteps => new Map([['a', steps]]);

  it('returns in the order of the answer, with the phase of its message', () => {
    const steps = stepsOf(
      think('one'),
      { type: 'message', phase: 'commentary' },
      think('two'),
      { type: 'call', id: 'a' },
      { type: 'call', id: 'b' },
    );
    expect(inputOf([answer], steps)).toEqual([
      think('one'),
      { ...text, phase: 'commentary' },
      think('two'),
      call('a'),
      call('b'),
    ]);
  });

  it('is placed before the next remaining item when the client drops the text', () => {
    const steps = stepsOf(think('one'), { type: 'message' }, { type: 'call', id: 'a' }, { type: 'call', id: 'b' });
    expect(inputOf([{ ...answer, content: null }], steps)).toEqual([think('one'), call('a'), call('b')]);
  });

  it('is left out when no item follows it', () => {
    const steps = stepsOf(think('one'), { type: 'call', id: 'a' }, think('two'), { type: 'call', id: 'gone' });
    expect(inputOf([answer], steps)).toEqual([text, think('one'), call('a'), call('b')]);
  });
});

it.each<[string, Partial<ChatRequest>]>([
  ['stop', { stop: ['\n'] }],
  ['logit_bias', { logit_bias: { 5: 1 } }],
  ['functions', { functions: [{ name: 'f' }] }],
  ['audio', { audio: { voice: 'alloy', format: 'wav' } }],
  ['modalities', { modalities: ['text', 'audio'] }],
  ['web_search_options', { web_search_options: {} }],
  ['previous_response_id', { previous_response_id: 'resp_1' }],
  ['conversation', { conversation: 'conv_1' }],
  ['max_tokens', { max_tokens: 15 }],
  ['max_completion_tokens', { max_tokens: 100, max_completion_tokens: 1 }],
  ['reasoning_effort', { reasoning_effort: 'xhigh' }],
  ['messages[0].name', { messages: [{ role: 'user', content: 'x', name: 'ada' }] }],
  ['messages[0]', { messages: [{ role: 'function', name: 'f', content: 'x' }] }],
  [
    'messages[1].function_call',
    {
      messages: [
        { role: 'user', content: 'x' },
        { role: 'assistant', function_call: { name: 'f', arguments: '' } },
      ],
    },
  ],
  [
    'messages[0].tool_calls[1].id',
    { messages: [{ role: 'assistant', content: null, tool_calls: [toolCall('a'), toolCall('a', 'other')] }] },
  ],
  ['messages[0].audio', { messages: [{ role: 'assistant', audio: { id: 'audio_1' } }] }],
  [
    'messages[0].content[1]',
    {
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'x' },
            { type: 'input_audio', input_audio: {} },
          ],
        },
      ],
    },
  ],
])('refuses %s, which the format does not have', (param, request) => {
  expect(refusalOf(request)).toBe(param);
});

it.each([{ prewarm: true }, { comparison_response_id: 'resp_1' }, { ttl: '12h', later: 1 }])(
  'refuses what chat completions do not take of the cache options %j',
  (options) => {
    const name = Object.keys(options).at(-1);
    expect(refusalOf({ prompt_cache_options: options })).toBe(`prompt_cache_options.${name}`);
  },
);

it('sends the cache options of chat completions', () => {
  const options = { mode: 'explicit', ttl: '12h', prewarm: false, comparison_response_id: null };
  expect(convert({ prompt_cache_options: options })['prompt_cache_options']).toEqual(options);
});

it('refuses penalties only for models that sample, where they would have an effect', () => {
  expect(refusalOf({ presence_penalty: 1 }, providerCall())).toBe('presence_penalty');
  expect(refusalOf({ presence_penalty: 1 })).toBe('not refused');
});

it('drops and refuses the fields that the quirks of the deployment name', () => {
  const call = providerCall({ quirks: { dropFields: ['metadata'], rejectFields: ['service_tier'] } });
  expect(convert({ metadata: { a: 'b' } }, call)).not.toHaveProperty('metadata');
  expect(refusalOf({ service_tier: 'default' }, call)).toBe('service_tier');
});

it('accepts an output limit equal to the minimum of the format', () => {
  expect(convert({ max_tokens: 16 })['max_output_tokens']).toBe(16);
});
