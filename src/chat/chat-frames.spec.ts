import type { ChatStream, StreamSink } from '../providers/contract/chat';
import { CollectingSink } from '../../test/conformance/provider-call';
import { type ChatChunk, chunksOf, TranslatedStream } from './chat-frames';

const frame = (content: string, finishReason: string | null = null): string =>
  `data: ${JSON.stringify({ id: 'c', created: 1, model: 'm/m', choices: [{ delta: { content }, finish_reason: finishReason }] })}\n\n`;

const text = ({ choices: [{ delta }] }: ChatChunk): string => delta.content ?? '';

class ScriptedStream implements ChatStream {
  readonly progress = { id: 'c', created: 1, outputBytes: 7, usage: null, finishReason: 'stop' };
  readonly accepted: boolean[] = [];

  constructor(private readonly writes: readonly (string | Buffer)[]) {}

  async pipe(sink: StreamSink): Promise<void> {
    for (const frames of this.writes) {
      const more = sink.write(frames);
      this.accepted.push(more);
      if (!more) await sink.drained();
    }
  }
}

describe('chunksOf', () => {
  it('parses every chunk of one write, as text or bytes, including escaped line breaks', () => {
    const frames = frame('a\n\nb') + frame('世界 \\n') + frame('', 'stop');
    for (const written of [frames, Buffer.from(frames)]) {
      expect([...chunksOf(written)].map(text)).toEqual(['a\n\nb', '世界 \\n', '']);
    }
  });
});

describe('TranslatedStream', () => {
  it('writes the translations of one write at once, and nothing for untranslatable chunks', async () => {
    const stream = new TranslatedStream(
      new ScriptedStream([frame('a') + frame('') + frame('b'), frame('')]),
      (chunk) => (text(chunk) === '' ? '' : `event ${text(chunk)}\n\n`),
    );
    const sink = new CollectingSink();
    await stream.pipe(sink);
    expect(sink.writes).toEqual(['event a\n\nevent b\n\n']);
    expect(stream.progress.outputBytes).toBe(7);
  });

  it('passes back-pressure on', async () => {
    const upstream = new ScriptedStream([frame('a'), frame('b')]);
    let waits = 0;
    await new TranslatedStream(upstream, text).pipe({
      write: (events) => events !== 'a',
      drained: async () => void waits++,
    });
    expect([upstream.accepted, waits]).toEqual([[false, true], 1]);
  });
});
