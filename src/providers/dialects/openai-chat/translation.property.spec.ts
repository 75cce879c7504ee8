import * as fc from 'fast-check';
import { chunk, sse, UPSTREAM_ACCENTS } from '../../../../test/conformance/chat-chunks';
import { FINISH, FIRST, OUTPUTS, playStream, USAGE } from '../../../../test/conformance/played-stream';
import { deltaOf, providerCall } from '../../../../test/conformance/provider-call';
import { ProviderError } from '../../contract/provider-error';
import { fromOpenAiChatReply } from './chat-reply';

const text = fc.oneof(fc.string({ unit: 'grapheme', maxLength: 8 }), fc.string({ unit: 'binary', maxLength: 4 }));
const pieces = fc.array(text, { maxLength: 5 });
/** Arguments are whatever the model writes, JSON or not. */
const call = fc.record({ name: fc.constantFrom('look_up', 'weather'), args: pieces });

const answer = fc.record({
  reasoning: pieces,
  words: pieces,
  calls: fc.array(call, { maxLength: 3 }),
  accent: fc.constantFrom(...UPSTREAM_ACCENTS),
  /** Whether parallel calls arrive piece by piece in turn. */
  inTurn: fc.boolean(),
  /** Whether calls are named after their arguments. */
  namedLate: fc.boolean(),
  lineEnd: fc.constantFrom('\n', '\r\n'),
});
type Answer = typeof answer extends fc.Arbitrary<infer Value> ? Value : never;

const garbledCall = fc.record(
  { index: fc.jsonValue(), id: fc.jsonValue(), function: fc.jsonValue(), custom: fc.jsonValue() },
  { requiredKeys: [] },
);
/** The fields of a message or a delta with values of any kind. */
const garbled = fc.record(
  {
    content: fc.jsonValue(),
    reasoning: fc.jsonValue(),
    refusal: fc.jsonValue(),
    annotations: fc.jsonValue(),
    function_call: fc.jsonValue(),
    tool_calls: fc.oneof(fc.jsonValue(), fc.array(fc.oneof(fc.jsonValue(), garbledCall))),
  },
  { requiredKeys: [] },
);

/** Where the bytes are cut, as parts of the whole. */
const cuts = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 40 });

function streamOf({ reasoning, words, calls, accent, inTurn, namedLate, lineEnd }: Answer): Buffer {
  const event = (delta: Record<string, unknown>): string => `data: ${accent.build(delta).toString()}\n\n`;
  const opened = calls.map(({ name }, index) => ({
    index,
    id: `call_${index}`,
    type: 'function',
    function: { ...(!namedLate && { name }), arguments: '' },
  }));
  const named = calls.map(({ name }, index) => ({ index, function: { name } }));
  const argumentsOf = calls.flatMap(({ args }, index) =>
    args.map((piece, at) => ({ at, index, function: { arguments: piece } })),
  );
  const ordered = inTurn ? argumentsOf.toSorted((a, b) => a.at - b.at) : argumentsOf;
  const events = [
    sse(FIRST),
    ...reasoning.map((piece) => event({ reasoning_content: piece })),
    ...words.map((content) => event({ content })),
    ...opened.map((each) => event({ tool_calls: [each] })),
    ...ordered.map(({ at: _at, ...each }) => event({ tool_calls: [each] })),
    ...(namedLate ? named : []).map((each) => event({ tool_calls: [each] })),
    sse(calls.length > 0 ? chunk({}, { finish_reason: 'tool_calls' }) : FINISH, USAGE, '[DONE]'),
  ];
  return Buffer.from(events.join('').replaceAll('\n', lineEnd));
}

function cutAt(bytes: Buffer, places: readonly number[]): Buffer[] {
  const ends = [...places.map((place) => Math.floor(place * bytes.length)).toSorted((a, b) => a - b), bytes.length];
  return ends.map((end, at) => bytes.subarray(ends[at - 1] ?? 0, end)).filter(({ length }) => length > 0);
}

interface CallDelta {
  readonly index: number;
  readonly function: { readonly arguments: string };
}

/** What a client reads that joins all deltas. */
function readAll(chunks: readonly Record<string, unknown>[]) {
  const read = { words: '', reasoning: '', calls: [] as string[] };
  for (const { content, reasoning_content: reasoning, tool_calls: calls } of chunks.map(deltaOf)) {
    read.words += (content as string | null) ?? '';
    read.reasoning += (reasoning as string | null) ?? '';
    for (const { index, function: called } of (calls ?? []) as CallDelta[]) {
      read.calls[index] = (read.calls[index] ?? '') + called.arguments;
    }
  }
  return read;
}

describe.each(OUTPUTS)('any answer as a stream of %s', (output) => {
  it('keeps all text and the arguments of calls as sent, however its bytes are cut', async () => {
    await fc.assert(
      fc.asyncProperty(answer, cuts, async (given, places) => {
        const { sink, stream, failure } = await playStream(cutAt(streamOf(given), places), undefined, output);
        const [words, reasoning] = [given.words.join(''), given.reasoning.join('')];
        const calls = given.calls.map(({ args }) => args.join(''));
        expect(failure).toBeNull();
        expect(readAll(sink.chunks)).toEqual({ words, reasoning, calls });
        expect(stream.progress).toMatchObject({
          finishReason: calls.length > 0 ? 'tool_calls' : 'stop',
          outputBytes: Buffer.byteLength([words, reasoning, ...calls].join('')),
        });
      }),
      { numRuns: 300 },
    );
  });

  it('is an error of the provider where it is garbage, and never a crash', async () => {
    const document = fc.oneof(
      fc.jsonValue(),
      fc.record({
        choices: fc.array(fc.record({ delta: garbled, finish_reason: fc.jsonValue() })),
        usage: fc.jsonValue(),
      }),
      fc.record({ choices: fc.jsonValue(), error: fc.jsonValue(), usage: fc.jsonValue() }, { requiredKeys: [] }),
    );
    // Most events leave the stream open.
    const event = fc.oneof(
      { weight: 8, arbitrary: garbled.map((delta) => Buffer.from(sse(chunk(delta)))) },
      { weight: 1, arbitrary: document.map((each) => Buffer.from(`data: ${JSON.stringify(each)}\n\n`)) },
      { weight: 1, arbitrary: fc.uint8Array({ maxLength: 30 }).map((bytes) => Buffer.from(bytes)) },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(event, { maxLength: 8 }), cuts, async (events, places) => {
        const bytes = Buffer.concat([Buffer.from(sse(FIRST)), ...events, Buffer.from(sse(FINISH))]);
        const ending = playStream(cutAt(bytes, places), undefined, output).then(
          ({ failure }) => failure,
          (error: unknown) => error,
        );
        expect(isCrash(await ending)).toBe(false);
      }),
      { numRuns: 500 },
    );
  });
});

describe('any whole answer', () => {
  it('keeps its text and the arguments of its calls as sent', () => {
    fc.assert(
      fc.property(text, fc.array(fc.record({ name: fc.constant('f'), args: text })), (content, calls) => {
        const toolCalls = calls.map(({ name, args }, index) => ({
          id: `call_${index}`,
          type: 'function',
          function: { name, arguments: args },
        }));
        const message = { role: 'assistant', content, ...(calls.length > 0 && { tool_calls: toolCalls }) };
        const reply = { choices: [{ index: 0, message, finish_reason: 'stop' }] };
        const { body } = fromOpenAiChatReply(Buffer.from(JSON.stringify(reply)), providerCall());
        expect(body.choices[0]).toMatchObject({ message });
      }),
    );
  });

  it('is an error of the provider where it is garbage, and never a crash', () => {
    const reply = fc.oneof(
      fc.jsonValue(),
      fc.record({
        choices: fc.array(fc.record({ message: garbled, finish_reason: fc.jsonValue() })),
        usage: fc.jsonValue(),
      }),
    );
    fc.assert(
      fc.property(
        fc.oneof(
          reply.map((each) => JSON.stringify(each)),
          fc.string(),
        ),
        (body) => {
          let failure: unknown = null;
          try {
            fromOpenAiChatReply(Buffer.from(body), providerCall());
          } catch (error) {
            failure = error;
          }
          expect(isCrash(failure)).toBe(false);
        },
      ),
      { numRuns: 1_000 },
    );
  });
});

/** The transport reports a crash of the translator as a broken connection. */
function isCrash(failure: unknown): boolean {
  if (failure === null || failure instanceof SyntaxError) return false;
  return !(failure instanceof ProviderError) || isCrash(failure.options.cause ?? null);
}
