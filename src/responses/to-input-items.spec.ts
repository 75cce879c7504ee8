import type { ResponseInput } from 'openai/resources/responses/responses';
import type { ResponseRequestDto } from './dto/response-request.dto';
import { toInputItems } from './to-input-items';

const itemsOf = (input: unknown, instructions?: string) =>
  toInputItems({ model: 'v/m', input, instructions } as ResponseRequestDto);

const IMAGE = 'data:image/png;base64,iVBORw0KGgo=';

it('copies the conversation in the types of the official client', () => {
  const conversation: ResponseInput = [
    { type: 'message', role: 'system', content: 'Be brief.' },
    { type: 'message', role: 'developer', content: 'Be polite.' },
    {
      type: 'message',
      role: 'user',
      content: [
        { type: 'input_text', text: 'Which coat?' },
        { type: 'input_image', image_url: IMAGE, detail: 'low' },
        { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,AA==' },
      ],
    },
    { type: 'message', role: 'assistant', content: 'I look.', phase: 'commentary' },
    { type: 'function_call', call_id: 'call_1', name: 'weather', arguments: '{"day":1}' },
    { type: 'custom_tool_call', call_id: 'call_2', name: 'sql', input: 'select 1' },
    {
      type: 'function_call_output',
      call_id: 'call_1',
      output: [
        { type: 'input_text', text: 'rain' },
        { type: 'input_image', image_url: IMAGE, detail: 'auto' },
      ],
    },
    { type: 'custom_tool_call_output', call_id: 'call_2', output: '1' },
  ];
  const [first, ...others] = conversation as [{ content: string }, ...ResponseInput];
  expect(itemsOf(others, first.content)).toEqual(conversation);
  expect(itemsOf('Hi')).toEqual([{ type: 'message', role: 'user', content: 'Hi' }]);
});

it('copies what an upstream has returned, without ids', () => {
  const answer = { type: 'output_text', text: 'Hello', annotations: [], logprobs: [] };
  const returned = [
    { id: 'msg_1', type: 'message', role: 'assistant', status: 'completed', phase: 'final', content: [answer] },
    { id: 'msg_2', role: 'assistant', content: [{ type: 'refusal', refusal: 'No.' }] },
    { id: 'fc_1', type: 'function_call', call_id: 'c', name: 'f', arguments: '{}', status: 'completed' },
  ];
  expect(itemsOf(returned)).toEqual([
    { type: 'message', role: 'assistant', phase: 'final', content: [{ type: 'output_text', text: 'Hello' }] },
    { type: 'message', role: 'assistant', content: [{ type: 'refusal', refusal: 'No.' }] },
    { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' },
  ]);
});

it.each([
  ['a reasoning item', { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'AA' }],
  ['a call of a hosted tool', { type: 'web_search_call', id: 'ws_1' }],
])('leaves out %s, which may refer to data in the account of the operator', (_name, item) => {
  expect(itemsOf([item, { role: 'user', content: 'Hi' }])).toHaveLength(1);
});

it.each([
  ['a file', { type: 'input_file', file_data: 'data:;base64,AA==', file_id: 'file-1', file_url: 'https://a.example' }],
  ['an image', { type: 'input_image', image_url: IMAGE, file_id: 'file-1' }],
])('does not pass on ids of stored files beside %s', (_name, part) => {
  expect(JSON.stringify(itemsOf([{ role: 'user', content: [part] }]))).not.toMatch(/file-1|example/);
});

it.each([
  ['a chat part', { role: 'user', content: [{ type: 'text', text: 'Hi' }] }],
  ['a chat image', { role: 'user', content: [{ type: 'image_url', image_url: { url: IMAGE } }] }],
  ['a chat part in a result', { type: 'function_call_output', call_id: 'c', output: [{ type: 'text', text: '1' }] }],
  ['tool calls in a message', { role: 'assistant', content: null, tool_calls: [] }],
  ['a tool message', { role: 'tool', tool_call_id: 'c', content: '1' }],
  ['a name', { role: 'user', name: 'ada', content: 'Hi' }],
  ['a refusal beside the content', { role: 'assistant', content: null, refusal: 'No.' }],
  ['parts of a question in an answer', { role: 'assistant', content: [{ type: 'input_text', text: 'Hi' }] }],
])('leaves a conversation with %s to the translation', (_name, item) => {
  expect(itemsOf([{ role: 'user', content: 'Hi' }, item])).toBeNull();
});
