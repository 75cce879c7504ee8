import type { Content, GenerationConfig, Tool, ToolConfig } from '@google/genai';
import { chatRequest } from '../../../../test/conformance/provider-call';
import type { ChatRequest } from '../../contract/chat';
import { ProviderError } from '../../contract/provider-error';
import { type GenerateTraits, toGenerateRequest } from './generate-request';

/** The vendor's own types, with the text of enums, as they are on the wire. */
type Wire<T> = T extends string ? `${T}` : T extends object ? { [K in keyof T]: Wire<T[K]> } : T;
interface WireRequest {
  contents: Wire<Content>[];
  systemInstruction?: Wire<Content>;
  tools?: Wire<Tool>[];
  toolConfig?: Wire<ToolConfig>;
  generationConfig?: Wire<GenerationConfig>;
}

const MODERN: GenerateTraits = {
  features: { reasoning: ['low', 'medium', 'high', 'xhigh'], sampling: false, prefill: false },
  quirks: {},
  maxOutputTokens: 65_536,
};
const OLDER: GenerateTraits = {
  features: { reasoning: ['none', 'minimal', 'low', 'medium', 'high'], thinking_budget: true, json_with_tools: false },
  quirks: { toolCallIds: false },
};
const UNKNOWN: GenerateTraits = { features: {}, quirks: {} };

const call = (id: string, name: string, args: string, extra: object = {}): object => ({
  id,
  type: 'function',
  function: { name, arguments: args },
  ...extra,
});
const tool = (name: string, parameters?: object, extra: object = {}): object => ({
  type: 'function',
  function: { name, parameters, ...extra },
});
const CITY = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
};
const messages = (...list: object[]): Partial<ChatRequest> => ({
  messages: list as unknown as ChatRequest['messages'],
});
const user = (content: unknown): object => ({ role: 'user', content });

const sent = (fields: Partial<ChatRequest>, traits = UNKNOWN, signatures?: ReadonlyMap<string, string>): unknown =>
  JSON.parse(JSON.stringify(toGenerateRequest(chatRequest(fields), traits, signatures)));

function refusalOf(fields: Partial<ChatRequest>, traits = UNKNOWN): unknown {
  try {
    toGenerateRequest(chatRequest(fields), traits);
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    return [error.code, error.options.phase, error.options.param];
  }
  return 'accepted';
}

describe('toGenerateRequest', () => {
  it('writes a tool loop as alternating turns with one turn of results, matched by id, name and count', () => {
    const request = messages(
      { role: 'system', content: 'Be brief.' },
      user([{ type: 'text', text: 'Weather and time in Oslo?' }]),
      {
        role: 'assistant',
        content: 'Let me look.',
        tool_calls: [call('c1', 'weather', '{"city":"Oslo"}'), call('c2', 'time', '')],
      },
      { role: 'tool', tool_call_id: 'c2', content: '12:30' },
      { role: 'tool', tool_call_id: 'c1', content: [{ type: 'text', text: '{"celsius":-3}' }] },
      { role: 'developer', content: [{ type: 'text', text: 'Use Celsius.' }] },
      user('Go on.'),
    );
    const expected: WireRequest = {
      contents: [
        { role: 'user', parts: [{ text: 'Weather and time in Oslo?' }] },
        {
          role: 'model',
          parts: [
            { text: 'Let me look.' },
            { functionCall: { id: 'c1', name: 'weather', args: { city: 'Oslo' } }, thoughtSignature: 'c2ln' },
            { functionCall: { id: 'c2', name: 'time', args: {} } },
          ],
        },
        {
          role: 'user',
          parts: [
            { functionResponse: { id: 'c1', name: 'weather', response: { celsius: -3 } } },
            { functionResponse: { id: 'c2', name: 'time', response: { output: '12:30' } } },
            { text: 'Go on.' },
          ],
        },
      ],
      systemInstruction: { parts: [{ text: 'Be brief.' }, { text: 'Use Celsius.' }] },
      tools: [{ functionDeclarations: [{ name: 'weather', parametersJsonSchema: CITY }, { name: 'time' }] }],
      generationConfig: { thinkingConfig: { includeThoughts: true } },
    };
    const tools = [tool('weather', CITY), tool('time', { type: 'object', properties: {} })];
    expect(sent({ ...request, tools }, MODERN, new Map([['c1', 'c2ln']]))).toEqual(expected);
  });

  it('sends no ids and no placeholder signature to models before Gemini 3', () => {
    const history = messages(
      user('Hi'),
      { role: 'assistant', content: null, tool_calls: [call('c1', 'f', '{}')] },
      { role: 'tool', tool_call_id: 'c1', content: 'done' },
    );
    const expected: Pick<WireRequest, 'contents'> = {
      contents: [
        { role: 'user', parts: [{ text: 'Hi' }] },
        { role: 'model', parts: [{ functionCall: { name: 'f', args: {} } }] },
        { role: 'user', parts: [{ functionResponse: { name: 'f', response: { output: 'done' } } }] },
      ],
    };
    expect((sent(history, OLDER) as WireRequest).contents).toEqual(expected.contents);
  });

  it('marks the first of several calls whose signature is lost, so that Gemini 3 accepts them', () => {
    const history = messages(
      user('Hi'),
      { role: 'assistant', tool_calls: [call('c1', 'f', '{}'), call('c2', 'f', '{}')] },
      { role: 'tool', tool_call_id: 'c1', content: '1' },
      { role: 'tool', tool_call_id: 'c2', content: '2' },
    );
    const [, turn] = (sent(history, MODERN) as WireRequest).contents;
    expect(turn?.parts?.map(({ thoughtSignature }) => thoughtSignature)).toEqual([
      'skip_thought_signature_validator',
      undefined,
    ]);
  });

  it('writes every setting that the model takes', () => {
    const expected: WireRequest = {
      contents: [{ role: 'user', parts: [{ text: 'Hello' }] }],
      generationConfig: {
        maxOutputTokens: 100,
        stopSequences: ['END'],
        seed: 7,
        temperature: 0.5,
        topP: 0.9,
        topK: 40,
        responseLogprobs: true,
        logprobs: 3,
        responseMimeType: 'application/json',
        responseJsonSchema: { description: 'A city of Europe', ...CITY },
        thinkingConfig: { thinkingLevel: 'HIGH', includeThoughts: true },
      },
    };
    const request = {
      max_tokens: 100,
      max_completion_tokens: 200,
      stop: ['END', ''],
      seed: 7,
      temperature: 0.5,
      top_p: 0.9,
      top_k: 40,
      logprobs: true,
      top_logprobs: 3,
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'city', description: 'A city of Europe', schema: CITY },
      },
      reasoning_effort: 'high',
    };
    expect(sent(request, { features: { logprobs: true }, quirks: {} })).toEqual(expected);
  });

  it('drops sampling where the model refuses it, penalties of zero, and fields that only guide the upstream', () => {
    const sampling = { temperature: 1, top_p: 1, top_k: 1, presence_penalty: 1, frequency_penalty: 1 };
    const hints = { user: 'ada', store: true, metadata: { a: 'b' }, prompt_cache_key: 'k', service_tier: 'auto' };
    const noEffect = { logit_bias: {}, n: 1, verbosity: 'medium', modalities: ['text'], tools: [], x_trace: 'y' };
    expect(sent({ ...sampling, ...hints, ...noEffect }, { features: { sampling: false }, quirks: {} })).toEqual(
      sent({}),
    );
    expect(sent({ presence_penalty: 0, frequency_penalty: 0 })).toEqual(sent({}));
    expect(sent({ temperature: 1 }, { features: {}, quirks: { dropFields: ['temperature'] } })).toEqual(sent({}));
  });

  it.each([
    [{ max_tokens: 90_000 }, MODERN, { maxOutputTokens: 65_536 }],
    [{ max_completion_tokens: 10 }, MODERN, { maxOutputTokens: 10 }],
    [{ stop: 'x' }, MODERN, { stopSequences: ['x'] }],
    [{ seed: 2 ** 32 + 5 }, MODERN, { seed: 5 }],
    [{ reasoning_effort: 'none' }, OLDER, { thinkingConfig: { thinkingBudget: 0 } }],
    [{ reasoning_effort: 'low' }, OLDER, { thinkingConfig: { thinkingBudget: 1_024, includeThoughts: true } }],
    [{ reasoning_effort: 'high' }, OLDER, { thinkingConfig: { thinkingBudget: 24_576, includeThoughts: true } }],
    [{ response_format: { type: 'json_object' } }, MODERN, { responseMimeType: 'application/json' }],
    [{ response_format: { type: 'text' } }, MODERN, {}],
  ] satisfies [Partial<ChatRequest>, GenerateTraits, WireRequest['generationConfig']][])(
    'writes %j',
    (fields, traits, expected) => {
      expect((sent(fields, traits) as WireRequest).generationConfig).toMatchObject(expected);
    },
  );

  const NAMED = { type: 'function', function: { name: 'f' } };
  it.each([
    ['auto', 'auto', undefined],
    ['none', 'none', { mode: 'NONE' }],
    ['required', 'required', { mode: 'ANY' }],
    ['a function', NAMED, { mode: 'ANY', allowedFunctionNames: ['f'] }],
    [
      'allowed functions',
      { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: [NAMED] } },
      { mode: 'VALIDATED', allowedFunctionNames: ['f'] },
    ],
    [
      'required functions',
      { type: 'allowed_tools', allowed_tools: { mode: 'required', tools: [NAMED] } },
      { mode: 'ANY', allowedFunctionNames: ['f'] },
    ],
    ['no allowed function', { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: [] } }, { mode: 'NONE' }],
  ] satisfies [string, unknown, NonNullable<WireRequest['toolConfig']>['functionCallingConfig']][])(
    'writes the tool choice %s',
    (_name, choice, expected) => {
      const { toolConfig } = sent({ tools: [tool('f')], tool_choice: choice }) as WireRequest;
      expect(toolConfig?.functionCallingConfig).toEqual(expected);
    },
  );

  it('writes the level of Gemini 4 that the types of the vendor do not list yet', () => {
    const { generationConfig } = sent({ reasoning_effort: 'xhigh' }, MODERN) as { generationConfig: object };
    expect(generationConfig).toEqual({ thinkingConfig: { thinkingLevel: 'XHIGH', includeThoughts: true } });
  });

  it('validates the arguments of strict functions', () => {
    const { toolConfig } = sent({ tools: [tool('f', CITY, { strict: true })] }) as WireRequest;
    expect(toolConfig?.functionCallingConfig?.mode).toBe('VALIDATED');
  });

  it('writes images, recordings and documents in every form', () => {
    const parts = [
      { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0=', detail: 'low' } },
      { type: 'image_url', image_url: { url: 'DATA:image/JPG;BASE64,/9j/\n4A==' } },
      { type: 'image_url', image_url: { url: 'https://example.com/a.JPG?x=1' } },
      { type: 'image_url', image_url: { url: 'https://example.com/a' } },
      { type: 'input_audio', input_audio: { data: 'UklG\n Rg==', format: 'wav' } },
      { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;name=a.pdf;base64,JVBERi0=' } },
      { type: 'file', file: { filename: 'notes.txt', file_data: 'aGk=' } },
      { type: 'file', file: { file_data: 'JVBERi0=' } },
      { type: 'text', text: '' },
      { type: 'text', text: 'Compare.' },
    ];
    const expected: Wire<Content> = {
      role: 'user',
      parts: [
        { inlineData: { mimeType: 'image/png', data: 'iVBORw0=' } },
        { inlineData: { mimeType: 'image/jpeg', data: '/9j/4A==' } },
        { fileData: { fileUri: 'https://example.com/a.JPG?x=1', mimeType: 'image/jpeg' } },
        { fileData: { fileUri: 'https://example.com/a' } },
        { inlineData: { mimeType: 'audio/wav', data: 'UklGRg==' } },
        { inlineData: { mimeType: 'application/pdf', data: 'JVBERi0=' } },
        { inlineData: { mimeType: 'text/plain', data: 'aGk=' } },
        { inlineData: { mimeType: 'application/pdf', data: 'JVBERi0=' } },
        { text: 'Compare.' },
      ],
    };
    expect((sent(messages(user(parts))) as WireRequest).contents).toEqual([expected]);
  });

  it.each([
    ['plain text', '12 degrees', { output: '12 degrees' }],
    ['a list', '[1]', { output: '[1]' }],
    ['an object', '{"a":1}', { a: 1 }],
    ['an object that looks like a schema', '{"$ref":"#/a"}', { output: '{"$ref":"#/a"}' }],
    [
      'an object with a number too long for a double',
      '{"id":1234567890123456789}',
      { output: '{"id":1234567890123456789}' },
    ],
    [
      'an object with a fraction too long for a double',
      '{"at":1764000000.123456789}',
      { output: '{"at":1764000000.123456789}' },
    ],
    ['an object with a number of 15 digits', '{"at":1764000000.12345}', { at: 1_764_000_000.12345 }],
    ['nothing', '', { output: '' }],
  ])('writes a tool result that is %s as an object', (_name, content, response) => {
    const history = messages(
      user('Hi'),
      { role: 'assistant', tool_calls: [call('c1', 'f', '{}')] },
      { role: 'tool', tool_call_id: 'c1', content },
    );
    expect((sent(history) as WireRequest).contents.at(-1)?.parts).toEqual([
      { functionResponse: { id: 'c1', name: 'f', response } },
    ]);
  });

  it.each([
    [
      'only a system message',
      [{ role: 'system', content: 'Say hi.' }],
      [{ role: 'user', parts: [{ text: 'Say hi.' }] }],
    ],
    [
      'a greeting of the assistant first',
      [{ role: 'assistant', content: 'Hello!' }, user('Hi')],
      [
        { role: 'user', parts: [{ text: ' ' }] },
        { role: 'model', parts: [{ text: 'Hello!' }] },
        { role: 'user', parts: [{ text: 'Hi' }] },
      ],
    ],
    [
      'a refusal and empty messages',
      [
        user('Hi'),
        { role: 'assistant', content: '', refusal: 'No.' },
        { role: 'assistant', content: '' },
        { role: 'assistant', content: [{ type: 'text', text: '' }] },
        user('Why?'),
      ],
      [
        { role: 'user', parts: [{ text: 'Hi' }] },
        { role: 'model', parts: [{ text: 'No.' }] },
        { role: 'user', parts: [{ text: 'Why?' }] },
      ],
    ],
  ] satisfies [string, object[], Wire<Content>[]][])('accepts a conversation with %s', (_name, list, contents) => {
    expect((sent(messages(...list)) as WireRequest).contents).toEqual(contents);
  });
});

describe('toGenerateRequest refuses before sending', () => {
  const answer = { role: 'assistant', tool_calls: [call('c1', 'f', '{}')] };
  const result = { role: 'tool', tool_call_id: 'c1', content: '1' };
  it.each<[string, Partial<ChatRequest>, GenerateTraits, string]>([
    ['several choices', { n: 2 }, UNKNOWN, 'n'],
    ['penalties', { frequency_penalty: 0.5 }, UNKNOWN, 'frequency_penalty'],
    ['token biases', { logit_bias: { 50256: -100 } }, UNKNOWN, 'logit_bias'],
    ['log probabilities', { logprobs: true }, UNKNOWN, 'logprobs'],
    ['spoken answers', { modalities: ['text', 'audio'] }, UNKNOWN, 'modalities'],
    ['a verbosity', { verbosity: 'low' }, UNKNOWN, 'verbosity'],
    ['a tier with another price', { service_tier: 'flex' }, UNKNOWN, 'service_tier'],
    ['legacy functions', { functions: [{ name: 'f' }] }, UNKNOWN, 'functions'],
    ['hosted search', { web_search_options: {} }, UNKNOWN, 'web_search_options'],
    ['fields of the deployment', { seed: 1 }, { features: {}, quirks: { rejectFields: ['seed'] } }, 'seed'],
    ['an effort that the model lacks', { reasoning_effort: 'none' }, MODERN, 'reasoning_effort'],
    ['an effort without a level', { reasoning_effort: 'max' }, UNKNOWN, 'reasoning_effort'],
    [
      'an effort without a budget',
      { reasoning_effort: 'max' },
      { ...OLDER, features: { thinking_budget: true } },
      'reasoning_effort',
    ],
    ['tools', { tools: [tool('f')] }, { features: { tools: false }, quirks: {} }, 'tools'],
    ['custom tools', { tools: [tool('f'), { type: 'custom', custom: { name: 'g' } }] }, UNKNOWN, 'tools[1]'],
    [
      'a custom tool choice',
      { tools: [tool('f')], tool_choice: { type: 'custom', custom: { name: 'g' } } },
      UNKNOWN,
      'tool_choice',
    ],
    ['a tool choice without tools', { tool_choice: 'required' }, UNKNOWN, 'tool_choice'],
    ['JSON with tools', { tools: [tool('f')], response_format: { type: 'json_object' } }, OLDER, 'response_format'],
    ['an assistant message at the end', messages(user('Hi'), { role: 'assistant', content: '{' }), MODERN, 'messages'],
    ['no text at all', messages(user('')), UNKNOWN, 'messages'],
    ['an unknown part', messages(user([{ type: 'video' }])), UNKNOWN, 'messages[0].content[0]'],
    [
      'a data URL without base64',
      messages(user([{ type: 'image_url', image_url: { url: 'data:image/png,x' } }])),
      UNKNOWN,
      'messages[0].content[0].image_url.url',
    ],
    [
      'function messages',
      messages(user('Hi'), { role: 'function', name: 'f', content: '1' }),
      UNKNOWN,
      'messages[1].role',
    ],
    [
      'legacy calls',
      messages(user('Hi'), { role: 'assistant', function_call: { name: 'f', arguments: '{}' } }),
      UNKNOWN,
      'messages[1].function_call',
    ],
    ['spoken history', messages(user('Hi'), { role: 'assistant', audio: { id: 'a' } }), UNKNOWN, 'messages[1].audio'],
    [
      'custom calls',
      messages(user('Hi'), { role: 'assistant', tool_calls: [{ id: 'c', type: 'custom', custom: {} }] }),
      UNKNOWN,
      'messages[1].tool_calls[0]',
    ],
    [
      'arguments that are not JSON',
      messages(user('Hi'), { role: 'assistant', tool_calls: [call('c', 'f', '{')] }),
      UNKNOWN,
      'messages[1].tool_calls[0].function.arguments',
    ],
    ['a call without result', messages(user('Hi'), answer, user('Go on')), UNKNOWN, 'messages[1].tool_calls[0]'],
    ['a call without result at the end', messages(user('Hi'), answer), UNKNOWN, 'messages[1].tool_calls[0]'],
    ['a result without call', messages(user('Hi'), result), UNKNOWN, 'messages[1].tool_call_id'],
    ['a second result', messages(user('Hi'), answer, result, result), UNKNOWN, 'messages[3].tool_call_id'],
  ])('%s', (_name, fields, traits, param) => {
    expect(refusalOf(fields, traits)).toEqual(['validation_failed', 'connect', param]);
  });
});
