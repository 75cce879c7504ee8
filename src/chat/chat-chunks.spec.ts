import { CollectingSink, providerCall } from '../../test/conformance/provider-call';
import { schemaValidator } from '../../test/harness/openapi-validator';
import type { ChatProvider, ChatRequest, ChatStream, StreamSink } from '../providers/contract/chat';
import type { ChatEvent } from '../providers/contract/chat-event';
import { NO_USAGE } from '../providers/contract/usage';
import { chatChunks, openChatChunks, RenderedStream } from './chat-chunks';

const START: ChatEvent = { type: 'start', id: 'c', created: 1, fingerprint: 'fp', serviceTier: 'default' };
const text = (written: string): ChatEvent => ({ type: 'text', text: written });
const HEAD = {
  id: 'c',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'm/m',
  system_fingerprint: 'fp',
  service_tier: 'default',
};

class ScriptedStream implements ChatStream {
  readonly progress = { id: 'c', created: 1, outputBytes: 7, usage: null, finishReason: 'stop' };
  readonly accepted: boolean[] = [];

  constructor(private readonly writes: readonly (readonly ChatEvent[])[]) {}

  async pipe(sink: StreamSink<readonly ChatEvent[]>): Promise<void> {
    for (const events of this.writes) {
      const more = sink.write(events);
      this.accepted.push(more);
      if (!more) await sink.drained();
    }
  }
}

async function chunksOf(...writes: (readonly ChatEvent[])[]): Promise<Record<string, unknown>[]> {
  const sink = new CollectingSink();
  await new RenderedStream(new ScriptedStream(writes), chatChunks('m/m')).pipe(sink);
  return sink.chunks;
}

const choice = (delta: object, logprobs: object | null = null, finishReason: string | null = null) => ({
  ...HEAD,
  choices: [{ index: 0, delta, logprobs, finish_reason: finishReason }],
});

describe('chatChunks', () => {
  it('renders every event as a chat completion chunk, the role once, and leaves usage to the caller', async () => {
    const token = { token: 'a', logprob: -1, bytes: [97], top_logprobs: [] };
    const chunks = await chunksOf(
      [START],
      [{ type: 'reasoning', text: 'Why?' }],
      [{ type: 'text', text: 'a\n"', logprobs: [token] }],
      [{ type: 'refusal', text: 'No.' }],
      [{ type: 'tool_call', index: 0, id: 'call_a', kind: 'function', name: 'f' }],
      [{ type: 'tool_call', index: 1, id: 'call_b', kind: 'custom', name: 'g' }],
      [{ type: 'tool_input', index: 0, text: '{}' }],
      [{ type: 'tool_input', index: 1, text: 'x' }],
      [
        { type: 'finish', reason: 'tool_calls' },
        { type: 'usage', usage: NO_USAGE },
      ],
    );
    const call = (fields: object) => choice({ tool_calls: [fields] });
    expect(chunks).toEqual([
      choice({ role: 'assistant', content: null }),
      choice({ reasoning_content: 'Why?' }),
      choice({ content: 'a\n"' }, { content: [token], refusal: null }),
      choice({ refusal: 'No.' }),
      call({ index: 0, id: 'call_a', type: 'function', function: { name: 'f', arguments: '' } }),
      call({ index: 1, id: 'call_b', type: 'custom', custom: { name: 'g', input: '' } }),
      call({ index: 0, function: { arguments: '{}' } }),
      call({ index: 1, custom: { input: 'x' } }),
      choice({}, null, 'tool_calls'),
    ]);
  });

  it('joins the role with text that arrives together with the start', async () => {
    const chunks = await chunksOf([START, text('Hi'), text('!')], [{ type: 'finish', reason: 'stop' }]);
    expect(chunks).toEqual([
      choice({ role: 'assistant', content: 'Hi' }),
      choice({ content: '!' }),
      choice({}, null, 'stop'),
    ]);
  });
});

describe('annotations of a stream', () => {
  const source = (url: string) => ({
    type: 'url_citation' as const,
    url_citation: { start_index: 0, end_index: 2, url, title: 'A page' },
  });
  const annotation = (url: string): ChatEvent => ({ type: 'annotation', annotation: source(url) });

  it('share a chunk while they are adjacent, since clients keep only the last list', async () => {
    const chunks = await chunksOf(
      [START, text('Hi'), annotation('https://a.example'), annotation('https://b.example'), text('!')],
      [annotation('https://c.example'), { type: 'finish', reason: 'stop' }],
    );
    expect(chunks).toEqual([
      choice({ role: 'assistant', content: 'Hi' }),
      choice({ annotations: [source('https://a.example'), source('https://b.example')] }),
      choice({ content: '!' }),
      choice({ annotations: [source('https://c.example')] }),
      choice({}, null, 'stop'),
    ]);
  });

  it('are chunks as the API document describes them', async () => {
    const isChunk = schemaValidator('ChatCompletionChunk');
    const [, rendered] = await chunksOf([START], [annotation('https://a.example')]);
    expect([isChunk(rendered), isChunk.errors]).toEqual([true, null]);
    expect(isChunk(choice({ annotations: source('https://a.example') }))).toBe(false);
  });
});

describe('RenderedStream', () => {
  const rendered = (events: readonly ChatEvent[]) =>
    events.map((event) => (event.type === 'text' ? `event ${event.text}\n\n` : '')).join('');

  it('writes the renderings of one write at once, and nothing for events without an equivalent', async () => {
    const writes = [[START, text('a'), text('b')], [{ type: 'reasoning', text: 'c' } as const]];
    const stream = new RenderedStream(new ScriptedStream(writes), rendered);
    const sink = new CollectingSink();
    await stream.pipe(sink);
    expect(sink.writes).toEqual(['event a\n\nevent b\n\n']);
    expect(stream.progress.outputBytes).toBe(7);
  });

  it('passes back-pressure on', async () => {
    const upstream = new ScriptedStream([[text('a')], [text('b')]]);
    let waits = 0;
    await new RenderedStream(upstream, rendered).pipe({
      write: (events) => events !== 'event a\n\n',
      drained: async () => void waits++,
    });
    expect([upstream.accepted, waits]).toEqual([[false, true], 1]);
  });
});

describe('openChatChunks', () => {
  it('prefers the chunks of a provider whose upstream writes them', async () => {
    const opened: string[] = [];
    const provider = {
      openStream: async () => {
        opened.push('events');
        return new ScriptedStream([]);
      },
      openChunkStream: async () => {
        opened.push('chunks');
        return new RenderedStream(new ScriptedStream([]), chatChunks('m/m'));
      },
    } satisfies Partial<ChatProvider> as unknown as ChatProvider;
    const request: ChatRequest = { model: 'm/m', messages: [] };
    await openChatChunks(provider, request, providerCall());
    await openChatChunks({ ...provider, openChunkStream: undefined }, request, providerCall());
    expect(opened).toEqual(['chunks', 'events']);
  });
});
