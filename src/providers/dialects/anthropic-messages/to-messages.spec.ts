import type { MessageParam } from '@anthropic-ai/sdk/resources/messages';
import type { ChatMessage } from '../../contract/chat';
import type { ModelFeatures } from '../../contract/provider-call';
import { ProviderError } from '../../contract/provider-error';
import { toConversation } from './to-messages';

const say = (role: string, content: unknown): ChatMessage => ({ role, content });
const result = (id: string, content: unknown = id): ChatMessage => ({ role: 'tool', tool_call_id: id, content });
const text = (words: string): { type: 'text'; text: string } => ({ type: 'text', text: words });

function calls(...ids: string[]): ChatMessage {
  return {
    role: 'assistant',
    content: null,
    tool_calls: ids.map((id) => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } })),
  };
}

function translate(messages: readonly ChatMessage[], features: ModelFeatures = {}): MessageParam[] {
  return toConversation(messages, features).messages;
}

function paramOf(messages: readonly ChatMessage[]): string | undefined {
  try {
    translate(messages);
  } catch (error) {
    if (error instanceof ProviderError) return error.options.param;
  }
  return undefined;
}

const idsIn = (message: MessageParam | undefined): unknown[] =>
  ((message?.content ?? []) as { id?: string; tool_use_id?: string }[]).map(({ id, tool_use_id: of }) => id ?? of);

describe('toConversation', () => {
  it('puts all results of one answer first into one user message', () => {
    const messages = translate([
      say('user', 'go'),
      calls('a', 'b'),
      say('system', 'Hurry.'),
      result('b'),
      result('a'),
      say('user', 'and?'),
    ]);
    expect(messages[2]).toEqual({
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 'b', content: 'b' },
        { type: 'tool_result', tool_use_id: 'a', content: 'a' },
        text('<system>Hurry.</system>'),
        text('and?'),
      ],
    });
  });

  it('passes the cache marker of a tool message on to its result', () => {
    const control = { type: 'ephemeral' };
    const [, , turn] = translate([
      say('user', 'go'),
      calls('a'),
      result('a', [text('1'), { ...text('2'), cache_control: control }]),
    ]);
    expect(turn?.content).toEqual([
      { type: 'tool_result', tool_use_id: 'a', content: [text('1'), text('2')], cache_control: control },
    ]);
  });

  it.each([
    ['a result is missing', [say('user', 'go'), calls('a', 'b'), result('a')], 'messages[1].tool_calls[1]'],
    [
      'another message comes first',
      [say('user', 'go'), calls('a'), say('user', 'x'), result('a')],
      'messages[1].tool_calls[0]',
    ],
    ['a result has no call', [say('user', 'go'), result('a')], 'messages[1].tool_call_id'],
    ['a result comes twice', [say('user', 'go'), calls('a'), result('a'), result('a')], 'messages[3].tool_call_id'],
    ['two calls have one id', [say('user', 'go'), calls('a', 'a')], 'messages[1].tool_calls[1].id'],
  ])('refuses calls without their results: %s', (_name, messages, param) => {
    expect(paramOf(messages)).toBe(param);
  });

  it.each(['{"q":', '[1]', '"text"', '5'])('refuses arguments that are not a JSON object: %s', (given) => {
    const call = { id: 'a', type: 'function', function: { name: 'f', arguments: given } };
    expect(paramOf([say('user', 'go'), { role: 'assistant', tool_calls: [call] }])).toBe(
      'messages[1].tool_calls[0].function.arguments',
    );
  });

  it('keeps all digits of numbers in arguments', () => {
    const json = '{"id":1234567890123456789,"f":1.0,"list":[2,3.5]}';
    const call = { id: 'a', type: 'function', function: { name: 'f', arguments: json } };
    const messages = translate([say('user', 'go'), { role: 'assistant', tool_calls: [call] }, result('a')]);
    expect(JSON.stringify(messages[1])).toContain(`"input":${json}`);
  });

  it('gives calls ids that the upstream accepts, unique and always the same', () => {
    const history = [say('user', 'go'), calls('functions.f:0'), result('functions.f:0')];
    const again = [...history, calls('functions.f:0', 'x'), result('x'), result('functions.f:0')];
    const messages = translate(again);
    const [first, second] = [idsIn(messages[1]), idsIn(messages[3])];
    expect(idsIn(messages[2])).toEqual(first);
    expect(idsIn(messages[4])).toEqual([second[1], second[0]]);
    expect(new Set([...first, ...second]).size).toBe(3);
    for (const id of [...first, ...second]) expect(id).toMatch(/^[a-zA-Z0-9_-]+$/);
    expect(translate(history)).toEqual(messages.slice(0, 3));
  });

  it('joins user messages, and leaves out messages without content', () => {
    expect(translate([say('user', 'a'), say('assistant', ''), say('user', ' '), say('user', 'b')])).toEqual([
      { role: 'user', content: [text('a'), text('b')] },
    ]);
  });

  it('starts with the user where the client starts with an answer, and counts its tool calls from there', () => {
    const greeted = [say('assistant', 'Hello!'), say('user', 'go'), calls('a'), result('a')];
    const { messages, toolSteps } = toConversation(greeted, {});
    expect(messages.slice(0, 2)).toEqual([
      { role: 'user', content: [text('.')] },
      { role: 'assistant', content: [text('Hello!')] },
    ]);
    expect(toolSteps.map(({ index }) => idsIn(messages[index]))).toEqual([['a']]);
  });

  it('takes instructions without a user as the request, and refuses a conversation without text', () => {
    expect(toConversation([say('system', 'Write a haiku.')], {})).toMatchObject({
      system: [],
      messages: [{ role: 'user', content: [text('Write a haiku.')] }],
    });
    expect(paramOf([say('user', ' ')])).toBe('messages');
  });

  describe('instructions between messages', () => {
    const later = (...messages: ChatMessage[]): ChatMessage[] => [say('user', 'hi'), ...messages];

    it('are messages of their own where the model takes them', () => {
      const messages = later(
        say('system', 'A'),
        say('developer', 'B'),
        say('assistant', 'ok'),
        say('user', 'go'),
        say('system', 'C'),
      );
      expect(translate(messages, { system_mid: true })).toEqual([
        { role: 'user', content: [text('hi')] },
        { role: 'system', content: [text('A'), text('B')] },
        { role: 'assistant', content: [text('ok')] },
        { role: 'user', content: [text('go')] },
        { role: 'system', content: [text('C')] },
      ]);
    });

    it.each<[string, ChatMessage[], ModelFeatures]>([
      ['the model refuses them', later(say('system', 'A')), {}],
      ['a user message follows', later(say('system', 'A'), say('user', 'go')), { system_mid: true }],
      [
        'they follow an answer',
        later(say('assistant', 'ok'), say('system', 'A'), say('user', 'go')),
        { system_mid: true },
      ],
      ['results are missing', later(calls('a'), say('system', 'A'), result('a')), { system_mid: true }],
    ])('are part of the user’s turn where %s', (_name, messages, features) => {
      const translated = translate(messages, features);
      expect(translated.map(({ role }) => role)).not.toContain('system');
      expect(JSON.stringify(translated)).toContain('<system>A</system>');
    });
  });

  it('trims the end of an answer that the model is to continue', () => {
    const messages = translate([say('user', 'hi'), say('assistant', 'The answer is \n')], { prefill: true });
    expect(messages.at(-1)).toEqual({ role: 'assistant', content: [text('The answer is')] });
  });
});
