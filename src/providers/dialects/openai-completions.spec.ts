import { sse } from '../../../test/conformance/chat-chunks';
import { choiceOf, CollectingSink, providerCall, providerErrorOf } from '../../../test/conformance/provider-call';
import { ScriptedTransport } from '../../../test/conformance/scripted-transport';
import type { CompletionRequest } from '../contract/completions';
import { ProviderError } from '../contract/provider-error';
import type { UpstreamHttp } from '../kit/upstream-http';
import { fromOpenAiCompletionReply, OpenAiCompletions, toOpenAiCompletionRequest } from './openai-completions';

const request = (fields: Partial<CompletionRequest> = {}): CompletionRequest => ({
  model: 'vendor/public-model',
  prompt: 'Once',
  max_tokens: 16,
  ...fields,
});

describe('toOpenAiCompletionRequest', () => {
  it('passes unknown fields on, but no gateway fields', () => {
    const fields = { n: 1, best_of: 1, routing: {}, x_mine: 1, suffix: null, echo: true, top_k: 5, stop: ['.'] };
    expect(toOpenAiCompletionRequest(request(fields), providerCall(), false)).toEqual({
      model: 'upstream-model',
      prompt: 'Once',
      max_tokens: 16,
      echo: true,
      top_k: 5,
      stop: ['.'],
    });
  });

  it.each([
    [{}, { include_usage: true }],
    [{ streamUsage: 'none' as const }, undefined],
  ])('requests the usage of a stream with %j as %j', (quirks, options) => {
    const streamed = request({ stream: true, stream_options: { include_usage: false } });
    const body = toOpenAiCompletionRequest(streamed, providerCall({ quirks }), true);
    expect([body['stream'], body['stream_options']]).toEqual([true, options]);
  });

  it('drops and refuses fields as the quirks say', () => {
    const call = providerCall({ quirks: { dropFields: ['user'], rejectFields: ['suffix', 'logit_bias'] } });
    expect(toOpenAiCompletionRequest(request({ user: 'ada', logit_bias: {} }), call, false)).toEqual({
      model: 'upstream-model',
      prompt: 'Once',
      max_tokens: 16,
    });
    expect(() => toOpenAiCompletionRequest(request({ suffix: 'end' }), call, false)).toThrow(
      expect.objectContaining({ code: 'validation_failed', options: expect.objectContaining({ param: 'suffix' }) }),
    );
  });
});

describe('fromOpenAiCompletionReply', () => {
  const read = (document: unknown) =>
    fromOpenAiCompletionReply(
      Buffer.from(typeof document === 'string' ? document : JSON.stringify(document)),
      providerCall(),
    );

  it('keeps text, log probabilities and finish reason, and extracts usage', () => {
    const logprobs = { tokens: [' upon'], token_logprobs: [-0.1], top_logprobs: null, text_offset: [4] };
    const { body, usage, outputBytes } = read({
      id: 'cmpl-1',
      object: 'text_completion',
      created: 7,
      model: 'internal-name',
      choices: [{ text: ' upon ü', index: 0, logprobs, finish_reason: 'length' }],
      usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 },
      provider: 'internal',
    });
    expect(body).toEqual({
      id: 'cmpl-1',
      object: 'text_completion',
      created: 7,
      model: 'vendor/public-model',
      choices: [{ text: ' upon ü', index: 0, logprobs, finish_reason: 'length' }],
    });
    expect([usage?.inputText, usage?.outputText, outputBytes]).toEqual([1, 2, 8]);
  });

  it.each([
    ['eos', 'stop'],
    ['max_tokens', 'length'],
    ['content_filter', 'content_filter'],
    ['tool_calls', 'stop'],
    [null, 'stop'],
  ])('maps the finish reason %s to %s', (reason, expected) => {
    expect(read({ choices: [{ text: '', finish_reason: reason }] }).body.choices[0].finish_reason).toBe(expected);
  });

  it.each([
    ['invalid JSON', 'provider_error'],
    [[], 'provider_error'],
    [{ choices: [] }, 'provider_error'],
    [{ choices: [{ message: { content: 'chat' } }] }, 'provider_error'],
    [{ choices: [{ text: 'x', finish_reason: 'error' }] }, 'provider_error'],
    [{ error: { type: 'overloaded_error', message: 'x' } }, 'provider_unavailable'],
  ])('refuses %j', (document, code) => {
    expect(() => read(document)).toThrow(expect.objectContaining({ name: 'ProviderError', code }));
  });
});

const http = (upstream: ScriptedTransport) => upstream as unknown as UpstreamHttp;

describe('a streamed completion', () => {
  const choice = (text: unknown, reason: string | null = null, extra = {}) => ({
    id: 'cmpl-1',
    created: 7,
    choices: [{ index: 0, text, finish_reason: reason, ...extra }],
  });
  const usage = { id: 'cmpl-1', choices: [], usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 } };

  async function play(script: (upstream: ScriptedTransport) => void) {
    const upstream = new ScriptedTransport();
    const opening = new OpenAiCompletions(http(upstream)).openStream(request(), providerCall());
    script(upstream);
    const stream = await opening;
    const sink = new CollectingSink();
    const ended = await stream.pipe(sink).catch((error: unknown) => error);
    return { sink, ended, progress: stream.progress };
  }

  it('is the same however the bytes are split', async () => {
    const bytes = Buffer.from(sse(choice('Ü'), choice('nd 👍'), choice('', 'length'), usage, '[DONE]'));
    for (let size = 1; size < bytes.length; size++) {
      const { sink, ended, progress } = await play((upstream) => {
        upstream.begin();
        for (let at = 0; at < bytes.length; at += size) upstream.data(bytes.subarray(at, at + size));
        upstream.end();
      });
      const [first, , last] = sink.chunks;
      expect(ended).toBeUndefined();
      expect(first).toEqual({
        id: 'cmpl-1',
        object: 'text_completion',
        created: 7,
        model: 'vendor/public-model',
        choices: [{ text: 'Ü', index: 0, logprobs: null, finish_reason: null }],
      });
      expect(last?.['choices']).toEqual([{ text: '', index: 0, logprobs: null, finish_reason: 'length' }]);
      expect([progress.usage?.outputText, progress.outputBytes, progress.finishReason]).toEqual([2, 9, 'length']);
    }
  });

  it('ends with its finish reason and ignores later events', async () => {
    const late = [choice('more', 'length'), choice('and more'), { choices: [{ finish_reason: 'error' }] }];
    const { sink, ended, progress } = await play((upstream) => {
      upstream
        .begin()
        .data(sse(choice('a', 'stop'), ...late, usage))
        .end();
    });
    expect(ended).toBeUndefined();
    expect(sink.chunks).toHaveLength(1);
    expect([progress.finishReason, progress.outputBytes, progress.usage?.outputText]).toEqual(['stop', 1, 2]);
  });

  it('ignores all choices but the first', async () => {
    const other = choice('no', 'length', { index: 1 });
    const { sink, progress } = await play((upstream) => {
      upstream
        .begin()
        .data(sse(choice('a'), other, choice('b', 'stop'), usage))
        .end();
    });
    expect(sink.chunks.map((each) => choiceOf(each)['text'])).toEqual(['a', 'b']);
    expect([progress.finishReason, progress.outputBytes]).toEqual(['stop', 2]);
  });

  it('fails without a finish reason', async () => {
    const { ended } = await play((upstream) =>
      upstream
        .begin()
        .data(sse(choice('a')))
        .end(),
    );
    expect(ended).toMatchObject({ name: 'ProviderError', code: 'provider_disconnect' });
  });

  it.each([
    ['an error', { error: { message: 'x', type: 'server_error' } }],
    ['invalid JSON', '{'],
    ['a failed finish', choice('', 'error')],
  ])('is interrupted by %s in mid-stream', async (_name, event) => {
    const { ended } = await play((upstream) =>
      upstream
        .begin()
        .data(sse(choice('a')))
        .data(sse(event)),
    );
    expect(ended).toBeInstanceOf(ProviderError);
    expect(ended).toMatchObject({ code: 'stream_interrupted' });
  });

  it('fails to open when the first event is an error', async () => {
    const upstream = new ScriptedTransport();
    const opening = new OpenAiCompletions(http(upstream)).openStream(request(), providerCall());
    upstream.begin().data(sse({ error: { message: 'x', type: 'overloaded_error' } }));
    expect((await providerErrorOf(opening)).code).toBe('provider_unavailable');
  });
});
