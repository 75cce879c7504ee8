import * as fc from 'fast-check';
import {
  CollectedEvents,
  events,
  finish,
  PING,
  redacted,
  START,
  startMessage,
  STOP,
  text,
  thinking,
  toolUse,
} from '../../../../test/conformance/message-events';
import { chatRequest, providerCall } from '../../../../test/conformance/provider-call';
import type { ChatMessage } from '../../contract/chat';
import { type AnswerBlock, restoreReasoning, toReasoningState } from './reasoning-state';
import { toMessagesRequest } from './to-messages-request';

const pieces = fc.array(fc.string({ unit: 'grapheme', maxLength: 8 }), { maxLength: 4 });
const input = fc.dictionary(fc.string({ maxLength: 5 }), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 });

/** A block of an answer, with the pieces in which its text arrives. */
const block = fc.oneof(
  pieces.map((list) => ({ kind: 'text' as const, list })),
  pieces.map((list) => ({ kind: 'thinking' as const, list })),
  fc.base64String({ minLength: 4 }).map((data) => ({ kind: 'redacted' as const, data })),
  fc.tuple(input, fc.nat(6)).map(([value, at]) => ({ kind: 'call' as const, json: JSON.stringify(value), at })),
);

type Block = typeof block extends fc.Arbitrary<infer Value> ? Value : never;

function eventsOf(blocks: readonly Block[]): string {
  const list = blocks.flatMap((each, index) => {
    if (each.kind === 'text') return text(index, ...each.list);
    if (each.kind === 'thinking') return thinking(index, `sig${index}`, ...each.list);
    if (each.kind === 'redacted') return redacted(index, each.data);
    return toolUse(index, `toolu_${index}`, 'f', each.json.slice(0, each.at), each.json.slice(each.at));
  });
  const called = blocks.some(({ kind }) => kind === 'call');
  return events(START, PING, ...list, finish(called ? 'tool_use' : 'end_turn'), STOP);
}

async function play(blocks: readonly Block[], size: number): Promise<{ sink: CollectedEvents; kept: AnswerBlock[] }> {
  const kept: AnswerBlock[] = [];
  const { upstream, opened } = startMessage(undefined, (answer) => {
    kept.push(...answer);
    return null;
  });
  const bytes = Buffer.from(eventsOf(blocks));
  upstream.begin();
  for (let at = 0; at < bytes.length; at += size) upstream.data(bytes.subarray(at, at + size));
  upstream.end();
  const sink = new CollectedEvents();
  await (await opened).pipe(sink);
  return { sink, kept };
}

describe('any answer', () => {
  it('streams its texts and arguments completely, with calls counted from 0, in whatever pieces', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(block, { maxLength: 6 }), fc.integer({ min: 1, max: 400 }), async (blocks, size) => {
        const { sink } = await play(blocks, size);
        const textOf = (type: string): string =>
          sink.list.map((event) => (event.type === type && 'text' in event ? event.text : '')).join('');
        const given = (kind: string): string =>
          blocks.map((each) => (each.kind === kind && 'list' in each ? each.list.join('') : '')).join('');
        expect([textOf('text'), textOf('reasoning')]).toEqual([given('text'), given('thinking')]);
        const calls = blocks.filter((each) => each.kind === 'call');
        const indexes = sink.list
          .filter(({ type }) => type === 'tool_call')
          .map((event) => 'index' in event && event.index);
        expect(indexes).toEqual(calls.map((_call, at) => at));
        expect(
          sink.list.filter(({ type }) => type === 'tool_input').map((event) => 'text' in event && event.text),
        ).toEqual(calls.map(({ json }) => json));
      }),
      { numRuns: 200 },
    );
  });

  it('gets its thinking back at the original positions, however its blocks alternate', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(block, { maxLength: 6 }), async (blocks) => {
        const { kept } = await play(blocks, 1_000);
        const tools = [{ type: 'function', function: { name: 'f' } }];
        const user: ChatMessage = { role: 'user', content: 'go' };
        const call = providerCall({ features: { thinking: 'default' } });
        const state = toReasoningState(toMessagesRequest(chatRequest({ tools, messages: [user] }), call).body, kept);
        const calls = kept.filter((each) => each.type === 'tool_use');
        const first = calls[0]?.id;
        fc.pre(state !== null && first !== undefined);
        const answer: ChatMessage = {
          role: 'assistant',
          content: kept.map((each) => (each.type === 'text' ? each.text : '')).join(''),
          tool_calls: calls.map(({ id, name, input: value }) => ({
            id,
            type: 'function',
            function: { name, arguments: JSON.stringify(value) },
          })),
        };
        const results = calls.map(({ id }): ChatMessage => ({ role: 'tool', tool_call_id: id, content: 'ok' }));
        const next = toMessagesRequest(chatRequest({ tools, messages: [user, answer, ...results] }), call);
        expect(restoreReasoning(next, new Map([[first as string, state as string]]))).toEqual([first]);
        const isSaid = (each: AnswerBlock): boolean => each.type !== 'text' || each.text.trim() !== '';
        expect(next.body.messages[1]?.content).toEqual(kept.filter(isSaid));
      }),
      { numRuns: 200 },
    );
  });
});
