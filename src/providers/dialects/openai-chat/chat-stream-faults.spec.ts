import { chunk, sse } from '../../../../test/conformance/chat-chunks';
import { FINISH, FIRST, OUTPUTS, startStream as start, TEXT, USAGE } from '../../../../test/conformance/played-stream';
import { providerCall, providerErrorOf } from '../../../../test/conformance/provider-call';
import type { ProviderCall } from '../../contract/provider-call';

const CALL = chunk({ tool_calls: [{ index: 0, id: 'a', function: { name: 'f', arguments: '' } }] });

describe.each(OUTPUTS)('a stream of %s before the first token', (output) => {
  const startStream = (call?: ProviderCall) => start(call, output);

  it.each([
    ['an error event', sse({ error: { message: 'slow down', code: 429 } }), 'provider_rate_limited'],
    ['an error beside choices', sse({ ...FIRST, error: { code: 502, message: 'x' } }), 'provider_unavailable'],
    ['a failed generation', sse(chunk({ content: '' }, { finish_reason: 'error' })), 'provider_error'],
    ['an event that is not JSON', 'data: {oops\n\n', 'provider_error'],
    ['a JSON event that is not an object', 'data: 5\n\n', 'provider_error'],
    ['an error right behind the first chunk', sse(FIRST, { error: { code: 503 } }), 'provider_unavailable'],
    ['nothing', '', 'provider_disconnect'],
    ['comments only', ': a\n\n: b\n\n', 'provider_disconnect'],
    ['no choices', sse({ ...FIRST, choices: [] }), 'provider_disconnect'],
    ['[DONE] as the first event', sse('[DONE]'), 'provider_disconnect'],
    ['an error event without its line end', 'data: {"error":{"code":429,"message":"x"}}', 'provider_rate_limited'],
    ['an error event that was cut off', 'data: {"error":{"code":429,"mess', 'provider_disconnect'],
    ['an event of more than 1 MiB', `data: ${'x'.repeat(1024 * 1024 + 1)}`, 'provider_error'],
  ])('fails with an HTTP status and allows a fallback: %s', async (_name, bytes, code) => {
    const { upstream, opened } = startStream();
    upstream.begin().data(bytes).end();
    const error = await providerErrorOf(opened);
    expect([error.code, error.options.phase, error.options.fallback]).toEqual([code, 'first_token', true]);
  });

  it('maps an error document instead of a stream', async () => {
    const { upstream, opened } = startStream();
    upstream
      .begin({ 'content-type': 'application/json; charset=utf-8' })
      .data('{"error":{"code":429,"message":"x"}}')
      .end();
    expect((await providerErrorOf(opened)).code).toBe('provider_rate_limited');
  });

  it('refuses compression', async () => {
    const { upstream, opened } = startStream();
    upstream.begin({ 'content-type': 'text/event-stream', 'content-encoding': 'gzip' });
    upstream.data('x');
    expect((await providerErrorOf(opened)).code).toBe('provider_error');
  });

  it('maps a broken connection by the phase of the call', async () => {
    const { upstream, opened } = startStream();
    upstream.breakConnection();
    expect((await providerErrorOf(opened)).options).toMatchObject({
      phase: 'connect',
      retrySame: true,
      fallback: true,
    });
    const later = startStream();
    later.upstream.begin().breakConnection();
    expect((await providerErrorOf(later.opened)).code).toBe('provider_disconnect');
  });

  it('enforces the first-token limit, with or without comments', async () => {
    const deadlines = { connectMs: 60_000, firstTokenMs: 30, idleMs: 60_000, totalMs: 60_000 };
    const { upstream, opened } = startStream(providerCall({ deadlines }));
    upstream.begin().data(': processing\n\n');
    const error = await providerErrorOf(opened);
    expect([error.code, error.options.fallback, upstream.aborted]).toEqual(['provider_timeout', true, true]);
  });
});

describe.each(OUTPUTS)('a stream of %s after the first token', (output) => {
  const startStream = (call?: ProviderCall) => start(call, output);

  it.each([
    ['an error event', sse({ error: { message: 'x', code: 429 } }), 'stream_interrupted'],
    ['a failed generation', sse(chunk({}, { finish_reason: 'error' })), 'stream_interrupted'],
    ['two events that are garbage', 'data: {"id":\n\n'.repeat(2), 'stream_interrupted'],
    ['garbage instead of the finish reason', 'data: {"id":\n\n', 'provider_disconnect'],
    ['garbage instead of the finish reason, and usage', `data: \0\0\n\n${sse(USAGE, '[DONE]')}`, 'provider_disconnect'],
    ['garbage within a tool call', `${sse(CALL)}data: {"id":\n\n${sse(FINISH)}`, 'stream_interrupted'],
    ['an event of more than 1 MiB', `data: ${'x'.repeat(1024 * 1024 + 1)}`, 'stream_interrupted'],
    ['the end without a finish reason', '', 'provider_disconnect'],
    ['the end in mid-event', 'data: {"id":"chat', 'provider_disconnect'],
    ['an error event without its line end', 'data: {"error":{"code":503}}', 'stream_interrupted'],
    ['an error event without its blank line', 'data: {"error":{"code":503}}\n', 'stream_interrupted'],
    ['an error event that was cut off', 'data: {"error":{"co', 'provider_disconnect'],
    ['[DONE] without a finish reason', sse('[DONE]'), 'provider_disconnect'],
  ])('delivers the events before the fault and then fails: %s', async (_name, bytes, code) => {
    const { upstream, opened, sink } = startStream();
    upstream.begin().data(sse(FIRST));
    const stream = await opened;
    upstream.data(sse(TEXT)).data(bytes).end();
    const error = await providerErrorOf(stream.pipe(sink));
    expect([error.code, error.options.phase, error.options.fallback]).toEqual([code, 'stream', false]);
    expect(sink.text).toBe('Hi');
    expect(stream.progress.outputBytes).toBe(2);
  });

  it.each(['data: {"id":\n\n', 'data: \0\0\n\n', 'data: "text"\n\n'])(
    'skips one event that cannot be parsed, and counts it: %j',
    async (garbage) => {
      const { upstream, opened, sink } = startStream();
      upstream
        .begin()
        .data(sse(FIRST, TEXT))
        .data(garbage)
        .data(sse(TEXT, FINISH, USAGE, '[DONE]'))
        .end();
      const stream = await opened;
      await stream.pipe(sink);
      expect(sink.text).toBe('HiHi');
      expect(stream.progress).toMatchObject({ skippedEvents: 1, outputBytes: 4, usage: { outputText: 2 } });
    },
  );

  it('fails when the connection breaks', async () => {
    const { upstream, opened, sink } = startStream();
    upstream.begin().data(sse(FIRST, TEXT));
    const piped = (await opened).pipe(sink);
    upstream.breakConnection();
    expect((await providerErrorOf(piped)).code).toBe('stream_interrupted');
  });

  it.each(['d', 'data: d\n'])('ends a stream that sends bytes without completing an event: %j', async (drop) => {
    const deadlines = { connectMs: 1_000, firstTokenMs: 60_000, idleMs: 60, totalMs: 60_000 };
    const { upstream, opened, sink } = startStream(providerCall({ deadlines }));
    upstream.begin().data(sse(FIRST));
    const piped = (await opened).pipe(sink);
    const drip = setInterval(() => upstream.data(drop), 10);
    const error = await providerErrorOf(piped);
    clearInterval(drip);
    expect([error.code, error.options.phase, upstream.aborted]).toEqual(['stream_interrupted', 'stream', true]);
  });

  it('counts comments as activity, up to the total limit', async () => {
    const deadlines = { connectMs: 1_000, firstTokenMs: 1_000, idleMs: 2_000, totalMs: 3_000 };
    const { upstream, opened, sink } = startStream(providerCall({ deadlines }));
    const startedAt = performance.now();
    upstream.begin().data(sse(FIRST));
    const piped = (await opened).pipe(sink);
    const comments = setInterval(() => upstream.data(': ping\n\n'), 10);
    const error = await providerErrorOf(piped);
    clearInterval(comments);
    expect(error.code).toBe('stream_interrupted');
    expect(performance.now() - startedAt).toBeGreaterThan(2_900);
  });

  it('ends the stream when the upstream hangs after the finish reason', async () => {
    const { upstream, opened, sink } = startStream(
      providerCall({ deadlines: { connectMs: 1, firstTokenMs: 1, idleMs: 600_000, totalMs: 600_000 } }),
    );
    upstream.begin().data(sse(FIRST, TEXT, FINISH));
    await (await opened).pipe(sink);
    expect(upstream.aborted).toBe(true);
  });

  it('does not wait for the end of the reply after finish reason and usage', async () => {
    const { upstream, opened, sink } = startStream();
    upstream.begin().data(sse(FIRST, TEXT, FINISH, USAGE));
    await (await opened).pipe(sink);
    expect(upstream.aborted).toBe(false);
    upstream.data(sse('[DONE]')).end();
  });

  it('closes the upstream at once when the call is aborted', async () => {
    const abort = new AbortController();
    const { upstream, opened, sink } = startStream(providerCall({ signal: abort.signal }));
    upstream.begin().data(sse(FIRST));
    const piped = (await opened).pipe(sink);
    abort.abort();
    expect(upstream.aborted).toBe(true);
    await providerErrorOf(piped);
  });
});
