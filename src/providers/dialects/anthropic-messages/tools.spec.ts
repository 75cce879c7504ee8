import { chatRequest, providerCall } from '../../../../test/conformance/provider-call';
import type { ChatMessage, ChatRequest } from '../../contract/chat';
import { toMessagesRequest } from './to-messages-request';

const called = (...names: string[]): ChatMessage[] => [
  { role: 'user', content: 'go' },
  {
    role: 'assistant',
    content: null,
    tool_calls: names.map((name, at) => ({ id: `c${at}`, type: 'function', function: { name, arguments: '{}' } })),
  },
  ...names.map((_name, at) => ({ role: 'tool', tool_call_id: `c${at}`, content: 'done' })),
];

function toolsOf(request: Partial<ChatRequest>): object {
  const { tools, tool_choice: choice } = toMessagesRequest(chatRequest(request), providerCall()).body;
  return { tools, choice };
}

describe('the tools of a conversation in which tools were called', () => {
  it('are declared by their names with tool_choice none when the request has no tools', () => {
    expect(toolsOf({ messages: called('find', 'set', 'find'), tools: [] })).toEqual({
      tools: [
        { name: 'find', input_schema: { type: 'object' } },
        { name: 'set', input_schema: { type: 'object' } },
      ],
      choice: { type: 'none' },
    });
  });

  it('are those of the request otherwise', () => {
    const tools = [{ type: 'function', function: { name: 'other' } }];
    expect(toolsOf({ messages: called('find'), tools })).toEqual({
      tools: [{ name: 'other', input_schema: { type: 'object' } }],
      choice: undefined,
    });
    expect(toolsOf({ messages: [{ role: 'user', content: 'go' }] })).toEqual({});
  });
});
