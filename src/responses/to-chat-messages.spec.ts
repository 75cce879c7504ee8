import type { ResponseRequestDto } from './dto/response-request.dto';
import { toChatMessages } from './to-chat-messages';

type Fields = Readonly<Record<string, unknown>>;

const messagesOf = (fields: Fields) =>
  toChatMessages({ model: 'mock/chat-1', input: 'hi', ...fields } as ResponseRequestDto).messages;
const call = (id: string, name = 'look_up'): Fields => ({
  type: 'function_call',
  id: `fc_${id}`,
  call_id: id,
  name,
  arguments: '{}',
  status: 'completed',
});
const chatCall = (id: string, name = 'look_up'): Fields => ({
  id,
  type: 'function',
  function: { name, arguments: '{}' },
});
const result = (id: string, output: unknown = '1'): Fields => ({ type: 'function_call_output', call_id: id, output });
const toolMessage = (id: string, content: unknown = '1'): Fields => ({ role: 'tool', tool_call_id: id, content });
const user = { role: 'user', content: 'hi' };

describe('toChatMessages', () => {
  it.each<[string, Fields, Fields[]]>([
    ['a string input', { input: 'hi' }, [user]],
    ['instructions, before the input', { instructions: 'Be brief.' }, [{ role: 'system', content: 'Be brief.' }, user]],
    ['empty instructions, which are dropped', { instructions: '' }, [user]],
  ])('%s', (_case, fields, messages) => {
    expect(messagesOf(fields)).toEqual(messages);
  });

  it.each<[string, Fields[], Fields[]]>([
    ['a chat message', [user], [user]],
    ['a typed message', [{ type: 'message', ...user }], [user]],
    ['a message with response-only fields', [{ ...user, id: 'msg_1', status: 'completed', phase: null }], [user]],
    [
      'developer and system messages',
      [{ role: 'developer', content: 'a' }, { role: 'system', content: 'b' }, user],
      [{ role: 'developer', content: 'a' }, { role: 'system', content: 'b' }, user],
    ],
    ['a single text part, as a string', [{ role: 'user', content: [{ type: 'input_text', text: 'hi' }] }], [user]],
    [
      'an assistant message from an earlier response',
      [
        user,
        {
          type: 'message',
          id: 'msg_1',
          role: 'assistant',
          status: 'completed',
          content: [{ type: 'output_text', text: 'Hello', annotations: [], logprobs: [] }],
        },
      ],
      [user, { role: 'assistant', content: 'Hello' }],
    ],
    [
      'a refusal from an earlier response',
      [user, { role: 'assistant', content: [{ type: 'refusal', refusal: 'No.' }] }],
      [user, { role: 'assistant', content: [{ type: 'refusal', refusal: 'No.' }] }],
    ],
    [
      'parts of every kind',
      [
        {
          role: 'user',
          content: [
            { type: 'input_text', text: 'a' },
            { type: 'input_image', image_url: 'https://a.example/a.png', detail: 'low' },
            { type: 'input_image', image_url: 'data:image/png;base64,AA==', detail: null },
            { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,AA==' },
            { type: 'input_audio', input_audio: { data: 'AA', format: 'wav' } },
            { type: 'text', text: 'b' },
            { type: 'image_url', image_url: { url: 'https://a.example/b.png' } },
          ],
        },
      ],
      [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'a' },
            { type: 'image_url', image_url: { url: 'https://a.example/a.png', detail: 'low' } },
            { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } },
            { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,AA==' } },
            { type: 'input_audio', input_audio: { data: 'AA', format: 'wav' } },
            { type: 'text', text: 'b' },
            { type: 'image_url', image_url: { url: 'https://a.example/b.png' } },
          ],
        },
      ],
    ],
    [
      'a call and its result',
      [user, call('1'), result('1')],
      [user, { role: 'assistant', content: null, tool_calls: [chatCall('1')] }, toolMessage('1')],
    ],
    [
      'parallel calls, which are one turn, with text before and between them, and unknown items anywhere',
      [
        user,
        { type: 'reasoning', summary: [] },
        { role: 'assistant', content: 'Let me see.' },
        call('1', 'a'),
        { type: 'reasoning', summary: [] },
        call('2', 'b'),
        result('1'),
        result('2', [{ type: 'input_text', text: '2' }]),
      ],
      [
        user,
        { role: 'assistant', content: 'Let me see.', tool_calls: [chatCall('1', 'a'), chatCall('2', 'b')] },
        toolMessage('1'),
        toolMessage('2', '2'),
      ],
    ],
    [
      'text after a call, which belongs to its turn',
      [user, call('1'), { role: 'assistant', content: 'One moment.' }, result('1')],
      [user, { role: 'assistant', content: 'One moment.', tool_calls: [chatCall('1')] }, toolMessage('1')],
    ],
    [
      'sequential calls, which are separate turns',
      [user, call('1'), result('1'), call('2'), result('2')],
      [
        user,
        { role: 'assistant', content: null, tool_calls: [chatCall('1')] },
        toolMessage('1'),
        { role: 'assistant', content: null, tool_calls: [chatCall('2')] },
        toolMessage('2'),
      ],
    ],
    [
      'two assistant messages in a row, which stay separate',
      [user, { role: 'assistant', content: 'a' }, { role: 'assistant', content: 'b' }],
      [user, { role: 'assistant', content: 'a' }, { role: 'assistant', content: 'b' }],
    ],
    [
      'calls and results in chat format',
      [user, { role: 'assistant', content: null, tool_calls: [chatCall('1')] }, toolMessage('1')],
      [user, { role: 'assistant', tool_calls: [chatCall('1')] }, toolMessage('1')],
    ],
    [
      'nothing of items of other types',
      [
        user,
        { type: 'web_search_call', id: 'ws_1', status: 'completed' },
        { type: 'computer_call_output', call_id: 'c', output: { type: 'computer_screenshot' } },
      ],
      [user],
    ],
  ])('%s', (_case, input, messages) => {
    expect(messagesOf({ input })).toEqual(messages);
  });
});
