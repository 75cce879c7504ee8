import * as fc from 'fast-check';
import { sse } from '../../../../test/conformance/chat-chunks';
import { MemoryVault } from '../../../../test/conformance/memory-vault';
import { providerCall, providerErrorOf } from '../../../../test/conformance/provider-call';
import { ScriptedTransport } from '../../../../test/conformance/scripted-transport';
import type { ChatStream } from '../../contract/chat';
import type { ChatEvent } from '../../contract/chat-event';
import type { ProviderCall } from '../../contract/provider-call';
import { ProviderError } from '../../contract/provider-error';
import { fromGenerateReply } from './generate-reply';
import { openGenerateStream } from './generate-stream';
import { ResponseReader } from './response-reader';

const piece = (parts: readonly object[], candidate: object = {}, top: object = {}): object => ({
  candidates: [{ content: { role: 'model', parts }, index: 0, ...candidate }],
  usageMetadata: { promptTokenCount: 3, candidatesTokenCount: parts.length },
  modelVersion: 'upstream-model',
  responseId: 'r1',
  ...top,
});
const FIRST = piece([{ text: 'Hi' }]);
const FINISH = piece([], { finishReason: 'STOP' });
const CALL = piece([{ functionCall: { name: 'f', args: { a: 'é' } }, thoughtSignature: 'c2ln' }]);

function start(call: ProviderCall = providerCall(), parallel = true) {
  const upstream = new ScriptedTransport();
  const opened = openGenerateStream({ http: upstream, endpoint: '/', body: '{}', call }, new ResponseReader(parallel));
  opened.catch(() => undefined);
  return { upstream, opened };
}

/** Text that follows text is one event, however the upstream's bytes arrive. */
function joined(events: readonly ChatEvent[]): ChatEvent[] {
  const list: ChatEvent[] = [];
  for (const event of events) {
    const last = list.at(-1);
    if ((event.type === 'text' || event.type === 'reasoning') && last?.type === event.type) {
      list[list.length - 1] = { ...event, text: last.text + event.text };
    } else {
      list.push(event);
    }
  }
  return list;
}

async function play(pieces: readonly (string | Buffer)[], call?: ProviderCall, parallel?: boolean) {
  const { upstream, opened } = start(call, parallel);
  upstream.begin();
  for (const each of pieces) upstream.data(each);
  upstream.end();
  const stream: ChatStream = await opened;
  const events: ChatEvent[] = [];
  const failure = await stream
    .pipe({ write: (batch) => events.push(...batch) > 0, drained: () => Promise.resolve() })
    .then(
      () => null,
      (error: unknown) => error,
    );
  if (failure !== null && !(failure instanceof ProviderError)) throw failure;
  return { stream, events, failure };
}

describe('openGenerateStream', () => {
  const recorded = Buffer.from(
    sse(
      piece([{ text: 'Let me think', thought: true }]),
      piece([{ text: 'Größe ' }]),
      piece([{ text: '日本 😀\n"' }]),
      piece([{ text: '', thoughtSignature: 'dGV4dA==' }]),
      piece([{ functionCall: { id: 'c1', name: 'f', args: { a: 'é' } }, thoughtSignature: 'c2ln' }]),
      piece([{ functionCall: { id: 'c2', name: 'g' } }]),
      piece(
        [{ text: '' }],
        { finishReason: 'STOP' },
        { usageMetadata: { promptTokenCount: 9, candidatesTokenCount: 8, thoughtsTokenCount: 7 } },
      ),
    ),
  );
  const expected = (stream: ChatStream): ChatEvent[] => [
    { type: 'start', id: 'chatcmpl-r1', created: stream.progress.created },
    { type: 'reasoning', text: 'Let me think' },
    { type: 'text', text: 'Größe 日本 😀\n"' },
    { type: 'tool_call', index: 0, id: 'c1', kind: 'function', name: 'f' },
    { type: 'tool_input', index: 0, text: '{"a":"é"}' },
    { type: 'tool_call', index: 1, id: 'c2', kind: 'function', name: 'g' },
    { type: 'tool_input', index: 1, text: '{}' },
    { type: 'finish', reason: 'tool_calls' },
    { type: 'usage', usage: expect.objectContaining({ inputText: 9, outputText: 8, outputReasoning: 7 }) as never },
  ];

  it('yields the same events however the upstream’s bytes are split', async () => {
    for (let split = 0; split < recorded.length; split++) {
      const { events, stream, failure } = await play([recorded.subarray(0, split), recorded.subarray(split)]);
      expect(failure).toBeNull();
      expect(joined(events)).toEqual(expected(stream));
      expect(stream.progress).toMatchObject({
        id: 'chatcmpl-r1',
        outputBytes: Buffer.byteLength('Let me thinkGröße 日本 😀\n"{"a":"é"}{}'),
        finishReason: 'tool_calls',
        skippedEvents: 0,
      });
    }
    const single = await play([...recorded].map((byte) => Buffer.of(byte)));
    expect(joined(single.events)).toEqual(expected(single.stream));
    const crlf = await play([recorded.toString().replaceAll('\n', '\r\n')]);
    expect(joined(crlf.events)).toEqual(expected(crlf.stream));
  });

  it('yields the content of the whole reply, for any parts in any pieces', async () => {
    const text = fc.string({ unit: 'grapheme' });
    const part = fc.oneof(
      text.map((each) => ({ text: each })),
      text.map((each) => ({ text: each, thought: true })),
      fc.dictionary(fc.string(), fc.jsonValue()).map((args) => ({ functionCall: { name: 'f', args } })),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(part, { maxLength: 3 }), { minLength: 1, maxLength: 6 }), async (pieces) => {
        const { events } = await play([sse(...pieces.map((parts) => piece(parts)), FINISH)]);
        const whole = Buffer.from(JSON.stringify(piece(pieces.flat(), { finishReason: 'STOP' })));
        const { body } = fromGenerateReply(whole, new ResponseReader(true), providerCall()).result;
        const textOf = (type: string) =>
          events.map((event) => (event.type === type ? (event as { text: string }).text : '')).join('');
        const inputs = events.flatMap((event) => (event.type === 'tool_input' ? [[event.index, event.text]] : []));
        expect(body.choices).toMatchObject([
          {
            message: {
              content: textOf('text') === '' && inputs.length > 0 ? null : textOf('text'),
              ...(textOf('reasoning') !== '' && { reasoning_content: textOf('reasoning') }),
              ...(inputs.length > 0 && {
                tool_calls: inputs.map(([, text]) => ({ function: { arguments: text } })),
              }),
            },
            finish_reason: inputs.length > 0 ? 'tool_calls' : 'stop',
          },
        ]);
        expect(inputs.map(([index]) => index)).toEqual(inputs.map((_input, index) => index));
      }),
      { numRuns: 100 },
    );
  });

  it('keeps only the first call when the client allows one at a time', async () => {
    const { events } = await play([sse(CALL, CALL, FINISH)], providerCall(), false);
    expect(events.filter(({ type }) => type === 'tool_call')).toHaveLength(1);
  });

  it('takes the latest running total as usage, and keeps it through pieces without tokens', async () => {
    const totals = [
      { promptTokenCount: 3, candidatesTokenCount: 1 },
      { promptTokenCount: 3, candidatesTokenCount: 5 },
      { trafficType: 'X' },
    ];
    const { stream } = await play([
      sse(...totals.map((usageMetadata) => piece([{ text: 'a' }], {}, { usageMetadata })), FINISH),
    ]);
    expect(stream.progress.usage).toMatchObject({ inputText: 3, outputText: 0 });
    const cut = await play([sse(...totals.map((usageMetadata) => piece([{ text: 'a' }], {}, { usageMetadata })))]);
    expect(cut.stream.progress.usage).toMatchObject({ inputText: 3, outputText: 5 });
  });

  it('passes log probabilities on with their text', async () => {
    const logprobsResult = { chosenCandidates: [{ token: 'Hi', logProbability: -1 }] };
    const { events } = await play([sse(piece([{ text: 'Hi' }], { logprobsResult }), FINISH)]);
    const token = { token: 'Hi', logprob: -1, bytes: [72, 105], top_logprobs: [] };
    expect(events[1]).toEqual({ type: 'text', text: 'Hi', logprobs: [token] });
  });

  it('stores the signatures under the first call before the end of the answer is passed on', async () => {
    const vault = new MemoryVault();
    const { upstream, opened } = start(providerCall({ openVault: () => vault }));
    upstream.begin().data(sse(piece([{ functionCall: { id: 'c1', name: 'f' }, thoughtSignature: 'c2ln' }])));
    const stream = await opened;
    const storedAtFinish: unknown[] = [];
    const piped = stream.pipe({
      write: (batch) => {
        if (batch.some(({ type }) => type === 'finish')) storedAtFinish.push(vault.states.get('c1'));
        return true;
      },
      drained: () => Promise.resolve(),
    });
    upstream
      .data(sse(piece([{ functionCall: { id: 'c2', name: 'g' } }])))
      .data(sse(FINISH))
      .end();
    await piped;
    expect(storedAtFinish).toEqual(['{"c1":"c2ln"}']);
    expect([...vault.states.keys()]).toEqual(['c1']);
  });

  it('ends only after the vault has stored the signatures', async () => {
    const { promise: stored, resolve } = Promise.withResolvers<void>();
    const vault = { store: () => stored, load: () => Promise.resolve(new Map<string, string>()) };
    const { upstream, opened } = start(providerCall({ openVault: () => vault }));
    upstream.begin().data(sse(CALL, FINISH)).end();
    let ended = false;
    const piped = (await opened)
      .pipe({ write: () => true, drained: () => Promise.resolve() })
      .then(() => (ended = true));
    await new Promise(setImmediate);
    expect(ended).toBe(false);
    resolve();
    await piped;
    expect(ended).toBe(true);
  });

  it('stores nothing without signatures', async () => {
    const vault = new MemoryVault();
    await play([sse(piece([{ functionCall: { name: 'f' } }]), FINISH)], providerCall({ openVault: () => vault }));
    expect(vault.states.size).toBe(0);
  });
});

describe('sources of a stream', () => {
  const passage = 'Größe 😀: 5 m.';
  const grounding = (chunks: readonly string[]) => ({
    groundingMetadata: {
      groundingChunks: chunks.map((uri) => ({ web: { uri, title: 'A page' } })),
      groundingSupports: chunks.map((_uri, index) => ({
        segment: { endIndex: Buffer.byteLength(passage) },
        groundingChunkIndices: [index],
      })),
    },
  });
  const cited = {
    citationMetadata: {
      citations: [{ startIndex: 0, endIndex: Buffer.byteLength('Größe'), uri: 'https://c.example' }],
    },
  };
  const citation = (end: number, url: string, title: string) => ({
    type: 'annotation',
    annotation: { type: 'url_citation', url_citation: { start_index: 0, end_index: end, url, title } },
  });
  const playSources = async (...pieces: readonly (string | Buffer)[]) => {
    const { events, stream, failure } = await play(pieces);
    expect(failure).toBeNull();
    return { events: joined(events), progress: { ...stream.progress, created: 0 } };
  };

  it('are annotations right before the finish, with offsets in the whole text, however the bytes are split', async () => {
    const recorded = Buffer.from(
      sse(
        piece([{ text: 'Größe 😀' }], cited),
        piece([{ text: ': 5 m. Ende' }], { ...cited, ...grounding(['https://a.example']) }),
        piece([{ text: '.' }], { finishReason: 'STOP', ...grounding(['https://a.example', 'https://b.example']) }),
      ),
    );
    const whole = await playSources(recorded);
    expect(whole.events.slice(1)).toEqual([
      { type: 'text', text: `${passage} Ende.` },
      citation(passage.length, 'https://a.example', 'A page'),
      citation(passage.length, 'https://b.example', 'A page'),
      citation(5, 'https://c.example', 'https://c.example'),
      { type: 'finish', reason: 'stop' },
      expect.objectContaining({ type: 'usage' }),
    ]);
    expect(whole.progress).toMatchObject({ outputBytes: Buffer.byteLength(`${passage} Ende.`), finishReason: 'stop' });
    for (let split = 1; split < recorded.length; split++) {
      const { events } = await playSources(recorded.subarray(0, split), recorded.subarray(split));
      expect(events.slice(1)).toEqual(whole.events.slice(1));
    }
    const bytewise = await playSources(...[...recorded].map((byte) => Buffer.of(byte)));
    expect(bytewise.events.slice(1)).toEqual(whole.events.slice(1));
  });

  it('are kept from an early piece when the last one has none', async () => {
    const { events } = await playSources(
      sse(piece([{ text: passage }], grounding(['https://a.example'])), piece([], { groundingMetadata: {} }), FINISH),
    );
    expect(events.filter(({ type }) => type === 'annotation')).toEqual([
      citation(passage.length, 'https://a.example', 'A page'),
    ]);
  });
});

describe('a stream of responses before the first candidate', () => {
  it.each([
    ['an error event', sse({ error: { code: 429, status: 'RESOURCE_EXHAUSTED' } }), 'provider_rate_limited', true],
    ['an overload', sse({ error: { code: 503, status: 'UNAVAILABLE' } }), 'provider_unavailable', true],
    [
      'a refused key',
      sse({ error: { code: 400, status: 'INVALID_ARGUMENT', details: [{ reason: 'API_KEY_INVALID' }] } }),
      'provider_error',
      true,
    ],
    ['a blocked prompt', sse({ promptFeedback: { blockReason: 'SAFETY' } }), 'validation_failed', false],
    ['a malformed call', sse(piece([], { finishReason: 'MALFORMED_FUNCTION_CALL' })), 'provider_error', true],
    ['an event that is not JSON', 'data: {oops\n\n', 'provider_error', true],
    ['a JSON event that is not an object', 'data: 5\n\n', 'provider_error', true],
    ['nothing', '', 'provider_disconnect', true],
    ['comments only', ': a\n\n: b\n\n', 'provider_disconnect', true],
    ['no candidates', sse({ usageMetadata: { promptTokenCount: 1 } }), 'provider_disconnect', true],
    ['[DONE] as the first event', sse('[DONE]'), 'provider_disconnect', true],
    ['an error event without its line end', 'data: {"error":{"code":429}}', 'provider_rate_limited', true],
    ['an event of more than 1 MiB', `data: ${'x'.repeat(1024 * 1024 + 1)}`, 'provider_error', true],
  ])('fails with an HTTP status: %s', async (_name, bytes, code, fallback) => {
    const { upstream, opened } = start();
    upstream.begin().data(bytes).end();
    const error = await providerErrorOf(opened);
    expect([error.code, error.options.phase, error.options.fallback]).toEqual([code, 'first_token', fallback]);
  });

  it('maps an error document instead of a stream, even in an array', async () => {
    const { upstream, opened } = start();
    upstream.begin({ 'content-type': 'application/json; charset=UTF-8' }, 400);
    upstream.data('[{"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT","details":');
    upstream.data('[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID"}]}}]').end();
    const { code, options } = await providerErrorOf(opened);
    expect([code, options.credentialRefused]).toEqual(['provider_error', true]);
  });
});

describe('a stream of responses after the first candidate', () => {
  it.each([
    ['an error event', sse({ error: { code: 500, status: 'INTERNAL' } }), 'stream_interrupted'],
    ['a blocked prompt', sse({ promptFeedback: { blockReason: 'SAFETY' } }), 'stream_interrupted'],
    ['a malformed call', sse(piece([], { finishReason: 'MALFORMED_FUNCTION_CALL' })), 'stream_interrupted'],
    ['two events that are garbage', 'data: {"candidates":\n\n'.repeat(2), 'stream_interrupted'],
    ['garbage within a tool call', `${sse(CALL)}data: {"candidates":\n\n${sse(FINISH)}`, 'stream_interrupted'],
    ['garbage instead of the finish reason', 'data: {"candidates":\n\n', 'provider_disconnect'],
    ['an event of more than 1 MiB', `data: ${'x'.repeat(1024 * 1024 + 1)}`, 'stream_interrupted'],
    ['the end without a finish reason', '', 'provider_disconnect'],
    ['the end in mid-event', 'data: {"candidates":[{"cont', 'provider_disconnect'],
    ['[DONE] without a finish reason', sse('[DONE]'), 'provider_disconnect'],
  ])('delivers the events before the fault and then fails: %s', async (_name, bytes, code) => {
    const { events, failure } = await play([sse(FIRST), sse(FIRST), bytes]);
    expect([failure?.code, failure?.options.phase, failure?.options.fallback]).toEqual([code, 'stream', false]);
    const text = events.map((event) => (event.type === 'text' ? event.text : '')).join('');
    expect(text).toBe('HiHi');
    expect(events.some(({ type }) => type === 'finish')).toBe(false);
  });

  it('stores no signatures of an answer that was interrupted', async () => {
    const vault = new MemoryVault();
    const { failure } = await play([sse(CALL)], providerCall({ openVault: () => vault }));
    expect([failure?.code, vault.states.size]).toEqual(['provider_disconnect', 0]);
  });

  it('skips one event that cannot be parsed, and counts it', async () => {
    const { failure, stream } = await play([sse(FIRST), 'data: {"candidates":\n\n', sse(FIRST, FINISH)]);
    expect([failure, stream.progress.skippedEvents, stream.progress.outputBytes]).toEqual([null, 1, 4]);
  });

  it.each([
    ['the last blank line is missing', sse(FIRST, FINISH).trimEnd()],
    ['an error follows the finish reason', sse(FIRST, FINISH, { error: { code: 500 } })],
    ['more text follows the finish reason', sse(FIRST, FINISH, FIRST)],
    ['[DONE] follows', sse(FIRST, FINISH, '[DONE]')],
    ['the finish reason comes with the text', sse(piece([{ text: 'Hi' }], { finishReason: 'STOP' }))],
  ])('succeeds when %s', async (_name, bytes) => {
    const { failure, events, stream } = await play([bytes]);
    expect(failure).toBeNull();
    expect([...new Set(events.map(({ type }) => type))]).toEqual(['start', 'text', 'finish', 'usage']);
    expect(events.filter(({ type }) => type === 'finish')).toHaveLength(1);
    expect(stream.progress.outputBytes).toBe(2);
  });
});
