import { configureProvider, closeProviders } from '../../../../test/conformance/configured-provider';
import { FakeUpstream } from '../../../../test/conformance/fake-upstream';
import { chatRequest, providerCall } from '../../../../test/conformance/provider-call';
import type { ChatMessage } from '../../contract/chat';
import { toOpenAiChatRequest } from './chat-request';

const CALL = {
  role: 'assistant',
  content: null,
  tool_calls: [{ id: 'abcdefghi', type: 'function', function: { name: 'f', arguments: '{}' } }],
};
const RESULT = { role: 'tool', tool_call_id: 'abcdefghi', content: '1' };
const NOTED = { role: 'assistant', content: 'OK.' };
const user = (content: string) => ({ role: 'user', content });
const system = (content: string) => ({ role: 'system', content });

function sent(messages: readonly object[]): unknown {
  const quirks = { strictRoles: true };
  const request = chatRequest({ messages: messages as ChatMessage[] });
  return toOpenAiChatRequest(request, providerCall({ quirks }), false)['messages'];
}

it.each([
  ['a question behind a result', [user('a'), CALL, RESULT, user('b')], [user('a'), CALL, RESULT, NOTED, user('b')]],
  [
    'an instruction behind a result',
    [user('a'), CALL, RESULT, { role: 'developer', content: [{ type: 'text', text: 'b' }] }],
    [user('a'), CALL, RESULT, NOTED, user('<system>b</system>')],
  ],
  [
    'an instruction behind an answer',
    [user('a'), NOTED, system('b'), user('c')],
    [user('a'), NOTED, user('<system>b</system>'), user('c')],
  ],
  [
    'instructions behind a question, and results in a row',
    [system('a'), system('b'), user('c'), system('d'), CALL, RESULT, RESULT, NOTED, user('e')],
    [system('a'), system('b'), user('c'), system('d'), CALL, RESULT, RESULT, NOTED, user('e')],
  ],
  ['an answer to continue', [user('a'), NOTED], [user('a'), { ...NOTED, prefix: true }]],
  [
    'an answer to continue with an empty list of calls',
    [user('a'), { ...NOTED, tool_calls: [] }],
    [user('a'), { ...NOTED, prefix: true }],
  ],
  ['calls without results', [user('a'), CALL], [user('a'), CALL]],
])('%s', (_name, given, expected) => {
  expect(sent(given)).toEqual(expected);
});

describe('Mistral', () => {
  let upstream: FakeUpstream;

  beforeEach(async () => (upstream = await FakeUpstream.start()));

  afterEach(async () => {
    await closeProviders();
    await upstream.stop();
  });

  it('gets the order of roles that it requires', async () => {
    upstream.answer = (response) => response.end('{}');
    const { chat, quirks } = configureProvider('mistral', upstream);
    const messages = [user('a'), CALL, RESULT, user('b')] as ChatMessage[];
    await chat?.complete(chatRequest({ messages }), providerCall({ quirks })).catch(() => null);
    const { messages: got } = JSON.parse(upstream.received[0]?.body ?? '') as { messages: ChatMessage[] };
    expect(got.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant', 'user']);
  });
});
