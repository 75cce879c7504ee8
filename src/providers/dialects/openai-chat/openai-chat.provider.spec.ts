import { chunk, sse } from '../../../../test/conformance/chat-chunks';
import { FakeUpstream } from '../../../../test/conformance/fake-upstream';
import { chatRequest, CollectingSink, providerCall, providerErrorOf } from '../../../../test/conformance/provider-call';
import { settle } from '../../../../test/harness/event-loop';
import { UpstreamHttp } from '../../kit/upstream-http';
import { OpenAiChat } from './openai-chat.provider';

const EVENT_STREAM = { 'content-type': 'text/event-stream' };
const FIRST = sse(chunk({ role: 'assistant', content: '' }));
const END = sse(chunk({}, { finish_reason: 'stop' }), '[DONE]');

describe('OpenAiChat over a connection', () => {
  let upstream: FakeUpstream;
  let http: UpstreamHttp;
  let chat: OpenAiChat;

  beforeEach(async () => {
    upstream = await FakeUpstream.start();
    http = new UpstreamHttp({ baseUrl: new URL(`${upstream.origin}/v1`) });
    chat = new OpenAiChat(http);
  });

  afterEach(async () => {
    await http.close();
    await upstream.stop();
  });

  it('refuses unsupported features before anything is sent', async () => {
    const call = providerCall({ features: { tools: false } });
    const request = chatRequest({ tools: [{ type: 'function', function: { name: 'f' } }] });
    expect((await providerErrorOf(chat.complete(request, call))).options.param).toBe('tools');
    expect((await providerErrorOf(chat.openStream(request, call))).options.param).toBe('tools');
    expect((await providerErrorOf(chat.openChunkStream(request, call))).options.param).toBe('tools');
    expect(upstream.connections).toBe(0);
  });

  it('keeps the connection after a stream', async () => {
    upstream.answer = (response) => response.writeHead(200, EVENT_STREAM).end(FIRST + END);
    for (let i = 0; i < 3; i++) {
      const stream = await chat.openChunkStream(chatRequest(), providerCall());
      await stream.pipe(new CollectingSink());
      await settle(5);
    }
    expect(upstream.connections).toBe(1);
  });

  it('closes the upstream connection when the client disconnects in mid-stream', async () => {
    const abort = new AbortController();
    const disconnected = upstream.nextDisconnect();
    upstream.answer = (response) => void response.writeHead(200, EVENT_STREAM).write(FIRST);
    const stream = await chat.openChunkStream(chatRequest(), providerCall({ signal: abort.signal }));
    const piped = providerErrorOf(stream.pipe(new CollectingSink()));
    abort.abort();
    await expect(disconnected).resolves.toBeUndefined();
    await piped;
  });

  it('closes the upstream connection when the client disconnects between opening and piping', async () => {
    const abort = new AbortController();
    const disconnected = upstream.nextDisconnect();
    upstream.answer = (response) => void response.writeHead(200, EVENT_STREAM).write(FIRST);
    const stream = await chat.openChunkStream(chatRequest(), providerCall({ signal: abort.signal }));
    abort.abort();
    await expect(disconnected).resolves.toBeUndefined();
    await providerErrorOf(stream.pipe(new CollectingSink()));
  });

  it.each([
    ['cleanly', (end: () => void) => end(), 'provider_disconnect'],
    ['by a reset', (_end: () => void, reset: () => void) => reset(), 'stream_interrupted'],
  ])('reports a stream that is closed early %s', async (_name, close, code) => {
    upstream.answer = (response) => {
      response.writeHead(200, EVENT_STREAM);
      response.write(FIRST + sse(chunk({ content: 'Hi' })));
      void settle(20).then(() =>
        close(
          () => response.end(),
          () => response.socket?.resetAndDestroy(),
        ),
      );
    };
    const stream = await chat.openChunkStream(chatRequest(), providerCall());
    const sink = new CollectingSink();
    expect((await providerErrorOf(stream.pipe(sink))).code).toBe(code);
    expect(sink.text).toBe('Hi');
  });

  it('applies back-pressure to a fast upstream while the receiver is slow, and loses nothing', async () => {
    const total = 400;
    const text = 'x'.repeat(64 * 1024);
    let written = 0;
    upstream.answer = (response) => {
      response.writeHead(200, EVENT_STREAM).write(FIRST);
      const writeMore = (): void => {
        while (written < total) {
          written++;
          if (!response.write(sse(chunk({ content: text })))) return void response.once('drain', writeMore);
        }
        response.end(END);
      };
      writeMore();
    };
    const stream = await chat.openChunkStream(chatRequest(), providerCall());
    let bytes = 0;
    let release: (() => void) | undefined;
    let full = true;
    const piped = stream.pipe({
      write: (frames) => {
        bytes += frames.length;
        return !full;
      },
      drained: () => new Promise((resolve) => (release = resolve)),
    });
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(written).toBeLessThan(total);
    full = false;
    release?.();
    await piped;
    expect(bytes).toBeGreaterThan(total * text.length);
    expect(stream.progress.outputBytes).toBe(total * text.length);
  });
});
