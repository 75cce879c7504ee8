import type { ChatStream, StreamProgress, StreamSink } from '../providers/contract/chat';

/** A chunk as `ChatStream.pipe` writes it: schema `ChatCompletionChunk`, always with one choice. */
export interface ChatChunk {
  readonly id: string;
  readonly created: number;
  readonly model: string;
  readonly system_fingerprint?: string;
  readonly choices: readonly [ChatChunkChoice];
}

export interface ChatChunkChoice {
  readonly delta: ChatDelta;
  readonly logprobs?: unknown;
  readonly finish_reason: string | null;
}

export interface ChatDelta {
  readonly role?: string;
  readonly content?: string | null;
  readonly refusal?: string | null;
  readonly reasoning_content?: string | null;
  readonly tool_calls?: readonly ToolCallDelta[];
}

export interface ToolCallDelta {
  readonly index: number;
  readonly id?: string;
  readonly function?: { readonly name?: string; readonly arguments?: string };
  /** Replaces `function` in a custom tool call. */
  readonly custom?: { readonly name?: string; readonly input?: string };
}

/**
 * Translates a chunk to events of another format. Stateful: one per stream, called with every chunk in order.
 * @returns complete `data: …\n\n` events, or an empty string for a chunk without an equivalent.
 */
export type ChunkTranslator = (chunk: ChatChunk) => string;

/**
 * A chat stream in another format: translates the frames and passes on progress, back-pressure, completion and failures
 * unchanged.
 */
export class TranslatedStream implements ChatStream {
  constructor(
    private readonly stream: ChatStream,
    private readonly translate: ChunkTranslator,
  ) {}

  get progress(): StreamProgress {
    return this.stream.progress;
  }

  pipe(sink: StreamSink): Promise<void> {
    const { translate } = this;
    return this.stream.pipe({
      write: (frames) => {
        let events = '';
        for (const chunk of chunksOf(frames)) events += translate(chunk);
        return events === '' || sink.write(events);
      },
      drained: () => sink.drained(),
    });
  }
}

const EVENT_START = 'data: ';
const EVENT_END = '\n\n';

/** Parses the chunks of one write of a chat stream: complete events, each with one line of JSON. */
export function* chunksOf(frames: string | Buffer): Generator<ChatChunk> {
  const text = frames.toString();
  let start = 0;
  while (start < text.length) {
    const end = text.indexOf(EVENT_END, start);
    yield JSON.parse(text.slice(start + EVENT_START.length, end)) as ChatChunk;
    start = end + EVENT_END.length;
  }
}
