import * as fc from 'fast-check';
import type { ChatMessage } from '../../contract/chat';
import { ProviderError } from '../../contract/provider-error';
import { isJsonObject, type JsonObject } from '../../kit/json';
import { type Part, toConversation } from './request-contents';

describe('toConversation', () => {
  interface Drawn extends ChatMessage {
    readonly calls?: readonly { readonly signed: boolean }[];
  }
  const text = fc.oneof(fc.string(), fc.constant(''));
  const step: fc.Arbitrary<Drawn[]> = fc.oneof(
    text.map((content) => [{ role: 'system', content }]),
    text.map((content) => [{ role: 'user', content }]),
    text.map((content) => [{ role: 'assistant', content }]),
    fc
      .array(fc.record({ result: fc.oneof(text, fc.json()), signed: fc.boolean() }), { minLength: 1, maxLength: 3 })
      .map((calls) => [
        { role: 'assistant', content: null, calls },
        ...calls.map(({ result: content }) => ({ role: 'tool', content })),
      ]),
  );
  /** Numbers the calls, so that their ids are unique. */
  const conversation = fc.array(step, { minLength: 1, maxLength: 12 }).map((steps) => {
    let made = 0;
    let answered = 0;
    const signatures = new Map<string, string>();
    const list = steps.flat().map((message): ChatMessage => {
      if (message.calls !== undefined) {
        const calls = message.calls.map(({ signed }) => {
          const id = `c${made++}`;
          if (signed) signatures.set(id, `s-${id}`);
          return { id, type: 'function', function: { name: `f_${id}`, arguments: '{"a":1}' } };
        });
        return { role: 'assistant', content: null, tool_calls: calls };
      }
      return message.role === 'tool' ? { ...message, tool_call_id: `c${answered++}` } : message;
    });
    return { list, signatures };
  });

  const OPTIONS = { toolCallIds: true, needsSignatures: true };

  it('alternates turns, begins with the user, and answers all calls of a turn in the next one, in order', () => {
    fc.assert(
      fc.property(conversation, ({ list, signatures }) => {
        fc.pre(list.some(({ content }) => content !== null && content !== ''));
        const { contents } = toConversation(list, { ...OPTIONS, signatures });
        contents.forEach(({ role, parts }, index) => {
          expect(role).toBe(index % 2 === 0 ? 'user' : 'model');
          expect(parts.length).toBeGreaterThan(0);
          expect(parts.every(({ text }) => text !== '')).toBe(true);
          const results = membersOf(contents[index + 1]?.parts, 'functionResponse');
          const calls = membersOf(parts, 'functionCall');
          expect(results.map(({ id, name }) => [id, name])).toEqual(
            role === 'model' ? calls.map(({ id, name }) => [id, name]) : [],
          );
        });
        const sent = contents.flatMap(({ parts }) => parts).filter(({ functionCall }) => functionCall !== undefined);
        const signed = sent.filter(({ thoughtSignature }) => String(thoughtSignature).startsWith('s-'));
        expect(signed.map(({ thoughtSignature }) => thoughtSignature)).toEqual([...signatures.values()]);
      }),
      { numRuns: 300 },
    );
  });

  it('never changes the messages, and fails with a validation error or not at all', () => {
    const anything = fc.json().map((json): ChatMessage[] => [{ role: 'user', content: JSON.parse(json) as unknown }]);
    fc.assert(
      fc.property(fc.array(fc.oneof(step, anything)), (steps) => {
        const list = steps.flat();
        const before = structuredClone(list);
        let code = 'validation_failed';
        try {
          toConversation(list, { ...OPTIONS, signatures: new Map() });
        } catch (error) {
          code = error instanceof ProviderError ? error.code : String(error);
        }
        expect([code, list]).toEqual(['validation_failed', before]);
      }),
      { numRuns: 300 },
    );
  });
});

function membersOf(parts: readonly Part[] | undefined, member: string): readonly JsonObject[] {
  return (parts ?? []).flatMap((part) => (isJsonObject(part[member]) ? [part[member]] : []));
}
