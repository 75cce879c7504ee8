import { providerCall } from '../../../../test/conformance/provider-call';
import { ProviderError } from '../../contract/provider-error';
import { fromGenerateReply, type GeneratedReply } from './generate-reply';
import { ResponseReader } from './response-reader';

const USAGE = { promptTokenCount: 3, candidatesTokenCount: 2, totalTokenCount: 5 };
const part = (text: string, extra: object = {}) => ({ text, ...extra });
const called = (name: string, args: unknown = {}, extra: object = {}, id?: string) => ({
  functionCall: { name, args, ...(id !== undefined && { id }) },
  ...extra,
});

function reply(parts: readonly object[], candidate: object = {}, top: object = {}): Buffer {
  return Buffer.from(
    JSON.stringify({
      candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP', index: 0, ...candidate }],
      usageMetadata: USAGE,
      modelVersion: 'upstream-model-001',
      responseId: 'r1',
      ...top,
    }),
  );
}

const read = (bytes: Buffer | string, parallel = true): GeneratedReply =>
  fromGenerateReply(Buffer.from(bytes), new ResponseReader(parallel), providerCall());
const choiceOf = (bytes: Buffer, parallel?: boolean) =>
  read(bytes, parallel).result.body.choices[0] as Record<string, any>; // eslint-disable-line

function errorOf(bytes: Buffer | string): ProviderError {
  try {
    read(bytes);
  } catch (error) {
    if (error instanceof ProviderError) return error;
    throw error;
  }
  throw new Error('expected a ProviderError');
}

describe('fromGenerateReply', () => {
  it('returns thoughts, text and tool calls in the shape that strict clients require', () => {
    const parts = [
      part('Think', { thought: true }),
      part('ing.', { thought: true }),
      part('Hé'),
      part('llo', { thoughtSignature: 'dGV4dA==' }),
      called('weather', { city: 'Oslo' }, { thoughtSignature: 'c2ln' }, 'c1'),
      called('time', undefined),
    ];
    const { result, calls } = read(reply(parts));
    expect(result.body).toEqual({
      id: 'chatcmpl-r1',
      object: 'chat.completion',
      created: expect.any(Number),
      model: 'vendor/public-model',
      choices: [
        {
          index: 0,
          message: {
            role: 'assistant',
            content: 'Héllo',
            refusal: null,
            reasoning_content: 'Thinking.',
            tool_calls: [
              {
                id: 'c1',
                type: 'function',
                function: { name: 'weather', arguments: '{"city":"Oslo"}' },
                extra_content: { google: { thought_signature: 'c2ln' } },
              },
              {
                id: expect.stringMatching(/^call_[0-9a-f]{24}$/),
                type: 'function',
                function: { name: 'time', arguments: '{}' },
              },
            ],
          },
          logprobs: null,
          finish_reason: 'tool_calls',
        },
      ],
      system_fingerprint: null,
    });
    expect(result.usage).toMatchObject({ inputText: 3, outputText: 2 });
    expect(result.outputBytes).toBe(Buffer.byteLength('Thinking.Héllo{"city":"Oslo"}{}'));
    expect(calls.map(({ signature }) => signature)).toEqual(['c2ln', null]);
    expect(JSON.stringify(result)).not.toContain('upstream-model');
  });

  it('gives every call its own id, even when the upstream repeats one', () => {
    const ids = choiceOf(
      reply([called('f', {}, {}, 'x'), called('f', {}, {}, 'x'), called('f')]),
    ).message.tool_calls.map(({ id }: { id: string }) => id);
    expect(new Set(ids).size).toBe(3);
    expect(ids[0]).toBe('x');
  });

  it('keeps only the first call when the client allows one at a time', () => {
    const { message } = choiceOf(reply([called('f'), called('g')]), false);
    expect(message.tool_calls.map(({ function: { name } }: { function: { name: string } }) => name)).toEqual(['f']);
  });

  it.each([
    ['STOP', 'stop'],
    ['MAX_TOKENS', 'length'],
    ['CONTINUATION', 'length'],
    ['SAFETY', 'content_filter'],
    ['RECITATION', 'content_filter'],
    ['LANGUAGE', 'content_filter'],
    ['BLOCKLIST', 'content_filter'],
    ['PROHIBITED_CONTENT', 'content_filter'],
    ['SPII', 'content_filter'],
    ['MODEL_ARMOR', 'content_filter'],
    ['ESCALATION', 'content_filter'],
    ['IMAGE_SAFETY', 'content_filter'],
    ['NO_IMAGE', 'stop'],
    ['OTHER', 'stop'],
    ['SOMETHING_NEW', 'stop'],
  ])('translates the finish reason %s', (upstream, expected) => {
    expect(choiceOf(reply([part('Hi')], { finishReason: upstream })).finish_reason).toBe(expected);
  });

  it('reports tool_calls for STOP after calls, but not when the answer was cut or withheld', () => {
    const reasons = ['STOP', 'MAX_TOKENS', 'SAFETY'].map(
      (finishReason) => choiceOf(reply([called('f')], { finishReason })).finish_reason,
    );
    expect(reasons).toEqual(['tool_calls', 'length', 'content_filter']);
  });

  it.each([
    ['a withheld answer', { content: undefined, finishReason: 'SAFETY' }, null],
    ['an answer that is cut before its first word', { content: {}, finishReason: 'MAX_TOKENS' }, ''],
  ])('returns %s without text', (_name, candidate, content) => {
    expect(choiceOf(reply([], candidate)).message.content).toBe(content);
  });

  it('converts log probabilities', () => {
    const logprobsResult = {
      chosenCandidates: [{ token: 'Hé', tokenId: 1, logProbability: -0.5 }],
      topCandidates: [
        {
          candidates: [
            { token: 'Hé', logProbability: -0.5 },
            { token: 'Ho', logProbability: -2 },
          ],
        },
      ],
    };
    const bytes = [0x48, 0xc3, 0xa9];
    expect(choiceOf(reply([part('Hé')], { logprobsResult })).logprobs).toEqual({
      content: [
        {
          token: 'Hé',
          logprob: -0.5,
          bytes,
          top_logprobs: [
            { token: 'Hé', logprob: -0.5, bytes },
            { token: 'Ho', logprob: -2, bytes: [0x48, 0x6f] },
          ],
        },
      ],
      refusal: null,
    });
  });

  it('converts grounding and recitations to annotations with character offsets', () => {
    const text = 'Größe: 5 m. Ende';
    const end = Buffer.byteLength('Größe: 5 m.');
    const candidate = {
      groundingMetadata: {
        groundingChunks: [{ web: { uri: 'https://a.example/', title: 'A' } }, { web: { uri: 'https://b.example/' } }],
        groundingSupports: [{ segment: { endIndex: end }, groundingChunkIndices: [0, 1, 7] }],
      },
      citationMetadata: { citationSources: [{ startIndex: end + 1, endIndex: 999, uri: 'https://c.example/' }] },
    };
    const citation = (start: number, stop: number, url: string, title = url) => ({
      type: 'url_citation',
      url_citation: { start_index: start, end_index: stop, url, title },
    });
    expect(choiceOf(reply([part(text)], candidate)).message.annotations).toEqual([
      citation(0, 11, 'https://a.example/', 'A'),
      citation(0, 11, 'https://b.example/'),
      citation(12, 16, 'https://c.example/'),
    ]);
  });

  it.each([
    ['HTML', '<html>', 'provider_error'],
    ['nothing', '', 'provider_error'],
    ['an array', '[]', 'provider_error'],
    ['no candidates', '{"candidates":[],"usageMetadata":{"promptTokenCount":3}}', 'provider_error'],
    ['a malformed call', reply([], { content: {}, finishReason: 'MALFORMED_FUNCTION_CALL' }), 'provider_error'],
    ['an unexpected call', reply([], { finishReason: 'UNEXPECTED_TOOL_CALL' }), 'provider_error'],
    ['a limited account', reply([], { finishReason: 'PUP_LIMITED_DISABLED' }), 'provider_error'],
    ['an error in place of an answer', '{"error":{"code":503,"status":"UNAVAILABLE"}}', 'provider_unavailable'],
  ])('refuses %s', (_name, bytes, code) => {
    const { code: found, options } = errorOf(bytes);
    expect([found, options.fallback, options.phase]).toEqual([code, true, 'first_token']);
  });

  it('allows one retry after a failed generation, and names it in the log', () => {
    const { options } = errorOf(reply([], { finishReason: 'MALFORMED_FUNCTION_CALL', finishMessage: 'print(secret)' }));
    expect([options.retrySame, options.upstream?.code]).toEqual([true, 'MALFORMED_FUNCTION_CALL']);
  });

  it('reports a blocked prompt in a reply with status 200 as refused by the content policy', () => {
    const { code, options } = errorOf('{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"},"modelVersion":"m"}');
    expect([code, options.fallback, options.details]).toEqual([
      'validation_failed',
      false,
      { reason: 'content_filtered', provider_code: 'PROHIBITED_CONTENT', provider_message: null },
    ]);
  });
});
