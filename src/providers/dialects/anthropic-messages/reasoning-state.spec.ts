import { chatRequest, providerCall } from '../../../../test/conformance/provider-call';
import type { ChatMessage, ChatRequest } from '../../contract/chat';
import type { ModelFeatures } from '../../contract/provider-call';
import type { AnswerBlock } from './reasoning-state';
import { REFUSED_STATE, restoreReasoning, toReasoningState } from './reasoning-state';
import { toMessagesRequest } from './to-messages-request';

const THINKING: AnswerBlock = { type: 'thinking', thinking: 'First', signature: 'c2lnMQ==' };
const REDACTED: AnswerBlock = { type: 'redacted_thinking', data: 'b3BhcXVl' };
const call = (id: string, input: object = { q: 'a' }): AnswerBlock => ({ type: 'tool_use', id, name: 'f', input });
const text = (words: string): AnswerBlock => ({ type: 'text', text: words });
const TOOLS = [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }];
const ADAPTIVE: ModelFeatures = { thinking: 'default' };

function translate(fields: Partial<ChatRequest>, features = ADAPTIVE): ReturnType<typeof toMessagesRequest> {
  return toMessagesRequest(chatRequest({ tools: TOOLS, ...fields }), providerCall({ features }));
}

/** An answer as chat clients return it, without its reasoning. */
function asClient(...blocks: readonly AnswerBlock[]): ChatMessage {
  return {
    role: 'assistant',
    content: blocks.map((block) => (block.type === 'text' ? block.text : '')).join('') || null,
    tool_calls: blocks
      .filter((block) => block.type === 'tool_use')
      .map(({ id, name, input }) => ({
        id,
        type: 'function',
        function: { name, arguments: JSON.stringify(input, null, 1) },
      })),
  };
}

const result = (id: string): ChatMessage => ({ role: 'tool', tool_call_id: id, content: 'ok' });
const USER: ChatMessage = { role: 'user', content: 'go' };

/** The state of the first answer to a request. */
function stateOf(
  messages: readonly ChatMessage[],
  answer: readonly AnswerBlock[],
  fields: Partial<ChatRequest> = {},
): string {
  const state = toReasoningState(translate({ ...fields, messages }).body, answer);
  if (state === null) throw new Error('expected a state');
  return state;
}

describe('the reasoning state of an answer', () => {
  it('is kept only for answers with thinking and tool calls', () => {
    const { body } = translate({ messages: [USER] });
    expect(toReasoningState(body, [THINKING, text('Hi')])).toBeNull();
    expect(toReasoningState(body, [text('Hi'), call('a')])).toBeNull();
    expect(toReasoningState(body, [REDACTED, call('a')])).not.toBeNull();
  });

  it('restores thinking exactly where it was, through several steps', () => {
    const first = [THINKING, text('Look: '), REDACTED, call('a'), call('b', { n: 1.5 })];
    const second: AnswerBlock[] = [{ ...THINKING, signature: 'c2lnMg==' }, call('c')];
    const history = [USER, asClient(...first), result('a'), result('b')];
    const states = new Map([['a', stateOf([USER], first)]]);
    const later = translate({ messages: history });
    expect(restoreReasoning(later, states)).toEqual(['a']);
    expect(later.body.messages[1]?.content).toEqual(first);

    // The second answer was given to a request with the thinking of the first.
    states.set('c', toReasoningState(later.body, second) ?? '');
    const last = translate({ messages: [...history, asClient(...second), result('c')] });
    expect(restoreReasoning(last, states)).toEqual(['a', 'c']);
    expect(last.body.messages[3]?.content).toEqual(second);
  });

  it('is the same where only cache markers have moved', () => {
    const marked = { ...USER, content: [{ type: 'text', text: 'go', cache_control: { type: 'ephemeral' } }] };
    const states = new Map([['a', stateOf([marked], [THINKING, call('a')])]]);
    const request = translate({
      messages: [USER, asClient(call('a')), { ...result('a'), cache_control: { type: 'ephemeral' } }],
    });
    expect(restoreReasoning(request, states)).toEqual(['a']);
  });

  const answer = [THINKING, text('Look'), call('a')];
  const state = stateOf([USER], answer);
  const history = [USER, asClient(...answer), result('a')];

  it.each<[string, Partial<ChatRequest>, string?]>([
    ['system prompt', { messages: [{ role: 'system', content: 'New.' }, ...history] }],
    ['tools', { messages: history, tools: [...TOOLS, { type: 'function', function: { name: 'g' } }] }],
    ['earlier messages', { messages: [{ ...USER, content: 'stop' }, ...history.slice(1)] }],
    ['text of the answer', { messages: [USER, asClient(text('Edited'), call('a')), result('a')] }],
    ['arguments of the call', { messages: [USER, asClient(text('Look'), call('a', { q: 'b' })), result('a')] }],
    ['calls of the answer', { messages: [USER, asClient(...answer, call('b')), result('a'), result('b')] }],
    ['stored state, which is not one', { messages: history }, '{"layout":5}'],
    ['stored state, which is garbage', { messages: history }, '{"lay'],
    ['stored state, which the upstream refused', { messages: history }, REFUSED_STATE],
  ])('is left out after a change of the %s', (_name, fields, stored = state) => {
    const request = translate(fields);
    const before = structuredClone(request.body.messages);
    expect(restoreReasoning(request, new Map([['a', stored]]))).toEqual([]);
    expect(request.body.messages).toEqual(before);
  });

  it('is left out for another model, and while reasoning is turned off', () => {
    const other = toMessagesRequest(
      chatRequest({ tools: TOOLS, messages: history }),
      providerCall({ features: ADAPTIVE, upstreamModel: 'other' }),
    );
    const off = translate({ messages: history, reasoning_effort: 'none' });
    for (const request of [other, off]) expect(restoreReasoning(request, new Map([['a', state]]))).toEqual([]);
  });

  it('is left out of later answers once an earlier one is lost', () => {
    const states = new Map([['a', state]]);
    const request = translate({ messages: history });
    restoreReasoning(request, states);
    const second = [THINKING, call('c')];
    states.set('c', toReasoningState(request.body, second) ?? '');
    states.delete('a');
    const later = translate({ messages: [...history, asClient(...second), result('c')] });
    expect(restoreReasoning(later, states)).toEqual([]);
  });

  it('disables reasoning where a model with a budget would insist on thinking that is lost', () => {
    const features: ModelFeatures = { thinking: 'budget' };
    const lost = translate({ messages: history, reasoning_effort: 'low' }, features);
    restoreReasoning(lost, new Map());
    expect(lost.body).not.toHaveProperty('thinking');
    const fresh = translate(
      { messages: [...history, { role: 'assistant', content: 'Done' }, USER], reasoning_effort: 'low' },
      features,
    );
    restoreReasoning(fresh, new Map());
    expect(fresh.body.thinking).toEqual({ type: 'enabled', budget_tokens: 1_024 });
  });
});
