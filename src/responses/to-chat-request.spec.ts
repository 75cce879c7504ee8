import { GatewayError } from '../core/errors/gateway-error';
import type { ResponseRequestDto } from './dto/response-request.dto';
import { toChatRequest } from './to-chat-request';

type Fields = Readonly<Record<string, unknown>>;

const translate = (fields: Fields) =>
  toChatRequest({ model: 'mock/chat-1', input: 'hi', ...fields } as ResponseRequestDto).chat;
const call = (id: string): Fields => ({
  type: 'function_call',
  call_id: id,
  name: 'look_up',
  arguments: '{}',
});
const result = (id: string, output: unknown = '1'): Fields => ({ type: 'function_call_output', call_id: id, output });
const user = { role: 'user', content: 'hi' };

function refusal(fields: Fields): { param: string | undefined; message: string } {
  try {
    translate(fields);
  } catch (error) {
    if (error instanceof GatewayError && error.code === 'validation_failed') return error;
    throw error;
  }
  throw new Error('expected the request to be rejected');
}

describe('parameters', () => {
  it('are renamed for chat, without absent and unknown ones', () => {
    const chat = translate({
      stream: true,
      max_output_tokens: 16,
      temperature: 0.5,
      top_p: 0.9,
      presence_penalty: 0.5,
      frequency_penalty: -0.5,
      top_logprobs: 3,
      service_tier: 'flex',
      user: 'ada',
      metadata: { a: 'b' },
      reasoning: { effort: 'high', summary: 'auto' },
      text: { verbosity: 'low' },
      include: ['reasoning.encrypted_content'],
      store: false,
      background: true,
      truncation: 'auto',
      safety_identifier: 's',
      prompt_cache_key: 'a',
      prompt_cache_retention: '24h',
      prompt_cache_options: { mode: 'explicit' },
      client_metadata: { a: 1 },
    });
    expect(chat).toEqual({
      model: 'mock/chat-1',
      messages: [user],
      stream: true,
      max_tokens: 16,
      temperature: 0.5,
      top_p: 0.9,
      presence_penalty: 0.5,
      frequency_penalty: -0.5,
      reasoning_effort: 'high',
      verbosity: 'low',
      service_tier: 'flex',
      user: 'ada',
      safety_identifier: 's',
      prompt_cache_key: 'a',
      prompt_cache_retention: '24h',
      prompt_cache_options: { mode: 'explicit' },
    });
    expect(Object.keys(translate({ stream: null, temperature: null, tools: null, text: null }))).toEqual([
      'model',
      'messages',
    ]);
  });

  it.each<[unknown, unknown]>([
    [{ type: 'text' }, undefined],
    [{ type: 'json_object' }, { type: 'json_object' }],
    [
      { type: 'json_schema', name: 'answer', schema: { type: 'object' }, strict: true },
      { type: 'json_schema', json_schema: { name: 'answer', schema: { type: 'object' }, strict: true } },
    ],
  ])('text.format %j becomes response_format %j', (format, expected) => {
    expect(translate({ text: { format } }).response_format).toEqual(expected);
  });
});

describe('tools', () => {
  const look = { type: 'function', name: 'look_up', description: 'Looks up', parameters: { type: 'object' } };
  const chatLook = {
    type: 'function',
    function: { name: 'look_up', description: 'Looks up', parameters: { type: 'object' } },
  };

  it('keep functions and drop provider-run tools', () => {
    const tools = [{ type: 'web_search' }, { ...look, strict: true }, { type: 'namespace', name: 'n' }];
    expect(translate({ tools }).tools).toEqual([
      { type: 'function', function: { ...chatLook.function, strict: true } },
    ]);
  });

  it.each<[unknown, unknown]>([
    ['required', 'required'],
    [
      { type: 'function', name: 'look_up' },
      { type: 'function', function: { name: 'look_up' } },
    ],
    [
      { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'look_up' }, { type: 'web_search' }] },
      {
        type: 'allowed_tools',
        allowed_tools: { mode: 'auto', tools: [{ type: 'function', function: { name: 'look_up' } }] },
      },
    ],
    [{ type: 'web_search_preview' }, undefined],
  ])('tool_choice %j becomes %j', (choice, expected) => {
    const chat = translate({ tools: [look], tool_choice: choice, parallel_tool_calls: false });
    expect(chat).toMatchObject({ tools: [chatLook], parallel_tool_calls: false });
    expect(chat.tool_choice).toEqual(expected);
  });

  it('drop tool_choice and parallel_tool_calls without functions', () => {
    const chat = translate({
      tools: [{ type: 'web_search' }],
      tool_choice: 'required',
      parallel_tool_calls: true,
    });
    expect(Object.keys(chat)).toEqual(['model', 'messages']);
  });
});

describe('chat validation errors are reported with paths of the request', () => {
  it.each<[string, Fields, string]>([
    ['no role', { input: [{ content: 'hi' }] }, 'input[0].role'],
    ['an unknown role', { input: [user, { role: 'wizard', content: 'hi' }] }, 'input[1].role'],
    ['no content', { instructions: 'x', input: [{ role: 'user' }] }, 'input[0].content'],
    ['no parts', { input: [{ role: 'user', content: [] }] }, 'input[0].content'],
    [
      'a part of an unknown kind',
      { input: [{ role: 'user', content: [{ type: 'input_video' }] }] },
      'input[0].content[0].type',
    ],
    [
      'a part without text',
      { input: [{ role: 'user', content: [{ type: 'input_text' }] }] },
      'input[0].content[0].text',
    ],
    [
      'a part whose text is a list of parts',
      { input: [{ role: 'user', content: [{ type: 'input_text', text: [{ type: 'text', text: 'a' }] }] }] },
      'input[0].content[0].text',
    ],
    [
      'a part of an answer without text',
      { input: [{ role: 'assistant', content: [{ type: 'output_text' }] }, user] },
      'input[0].content[0].text',
    ],
    [
      'a part of a result without text',
      { input: [user, call('1'), { ...result('1'), output: [{ type: 'input_text' }] }] },
      'input[2].output[0].text',
    ],
    [
      'one of several parts without text',
      {
        input: [
          {
            role: 'user',
            content: [
              { type: 'input_text', text: 'a' },
              { type: 'input_text', text: 1 },
            ],
          },
        ],
      },
      'input[0].content[1].text',
    ],
    [
      'an image with an http URL',
      {
        input: [user, { role: 'user', content: [{ type: 'input_image', image_url: 'http://a.example/a.png' }] }],
      },
      'input[1].content[0].image_url',
    ],
    [
      'an image by file_id',
      { input: [{ role: 'user', content: [{ type: 'input_image', file_id: 'file-1' }] }] },
      'input[0].content[0].image_url',
    ],
    [
      'a chat image without a URL',
      { input: [{ role: 'user', content: [{ type: 'image_url', image_url: {} }] }] },
      'input[0].content[0].image_url.url',
    ],
    [
      'a file by file_id',
      { input: [{ role: 'user', content: [{ type: 'input_file', file_id: 'file-1' }] }] },
      'input[0].content[0].file_data',
    ],
    ['a call without an id', { input: [user, { ...call('1'), call_id: null }] }, 'input[1].call_id'],
    ['a second call without a name', { input: [user, call('1'), { ...call('2'), name: undefined }] }, 'input[2].name'],
    ['a call with non-string arguments', { input: [user, { ...call('1'), arguments: {} }] }, 'input[1].arguments'],
    ['a result without an id', { input: [user, call('1'), { ...result('1'), call_id: null }] }, 'input[2].call_id'],
    ['a result without output', { input: [user, call('1'), { ...result('1'), output: null }] }, 'input[2].output'],
    ['only ignored items', { input: [{ type: 'reasoning', summary: [] }] }, 'input'],
    ['a function without a name', { tools: [{ type: 'web_search' }, { type: 'function' }] }, 'tools[1].name'],
    ['an unknown choice', { tools: [{ type: 'function', name: 'f' }], tool_choice: 'any' }, 'tool_choice'],
    [
      'a tool choice without a name',
      { tools: [{ type: 'function', name: 'f' }], tool_choice: { type: 'function' } },
      'tool_choice.name',
    ],
    [
      'an allowed_tools without a mode',
      { tools: [{ type: 'function', name: 'f' }], tool_choice: { type: 'allowed_tools', tools: [] } },
      'tool_choice.mode',
    ],
    [
      'an allowed tool without a name',
      {
        tools: [{ type: 'function', name: 'f' }],
        tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'web_search' }, { type: 'function' }] },
      },
      'tool_choice.tools[1].name',
    ],
    [
      'an allowed tool of null',
      {
        tools: [{ type: 'function', name: 'f' }],
        tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [null] },
      },
      'tool_choice.tools[0]',
    ],
    ['a schema without a name', { text: { format: { type: 'json_schema', schema: {} } } }, 'text.format.name'],
  ])('%s', (_case, fields, param) => {
    const refused = refusal(fields);
    expect(refused.param).toBe(param);
    expect(refused.message).toContain(param);
    expect(refused.message).not.toContain('messages[');
  });

  it.each<[string, object, string]>([
    ['a user', { role: 'user' }, 'input_text, input_image, input_audio, input_file'],
    ['a developer', { role: 'developer' }, 'input_text'],
    ['an assistant', { role: 'assistant' }, 'output_text, refusal'],
  ])('an unknown type of a part of %s message is refused with the types of this format', (_role, message, types) => {
    const param = 'input[0].content[1].type';
    const content = [{ type: 'text', text: 'a' }, { type: 'video' }];
    expect(refusal({ input: [{ ...message, content }, user] })).toMatchObject({
      param,
      message: `${param} must be one of the following values: ${types}`,
    });
  });

  it.each([[{ type: 'input_text', text: 'a' }], [{ type: 'input_image', image_url: 'data:image/png;base64,AA==' }]])(
    'an unknown type of a part of a result is refused with the types of this format, after %j',
    (part) => {
      const param = 'input[2].output[1].type';
      expect(refusal({ input: [user, call('1'), result('1', [part, { type: 'input_file' }])] })).toMatchObject({
        param,
        message: `${param} must be one of the following values: input_text, input_image`,
      });
    },
  );

  it('provider errors are reported with paths of the request', () => {
    const { paths } = toChatRequest({
      model: 'mock/chat-1',
      instructions: 'Be brief.',
      input: [
        {
          role: 'user',
          content: [
            { type: 'input_text', text: 'a' },
            { type: 'input_image', image_url: 'data:,' },
          ],
        },
      ],
    });
    const error = (param?: string) => new GatewayError('validation_failed', `No ${param}.`, { param });
    expect(paths.translateError(error('messages[1].content[1]'))).toMatchObject({
      code: 'validation_failed',
      param: 'input[0].content[1]',
      message: 'No input[0].content[1].',
    });
    expect(paths.translateError(error('messages[0].content'))).toMatchObject({ param: 'instructions' });
    expect(paths.translateError(error('response_format'))).toMatchObject({ param: 'text.format' });
    expect(paths.translateError(error('reasoning_effort'))).toMatchObject({ param: 'reasoning.effort' });
    expect(paths.translateError(error('verbosity'))).toMatchObject({ param: 'text.verbosity' });
    expect(paths.translateError(error('max_tokens'))).toMatchObject({ param: 'max_output_tokens' });
    expect(paths.translateError(error('temperature'))).toMatchObject({ param: 'temperature' });
    const other = new Error('something else');
    expect(paths.translateError(other)).toBe(other);
  });
});
