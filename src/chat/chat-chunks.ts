import type {
  ChatProvider,
  ChatRequest,
  ChatStream,
  ChunkStream,
  StreamProgress,
  StreamSink,
} from '../providers/contract/chat';
import type { ChatEvent, ChatStart, TokenLogprob, UrlCitation } from '../providers/contract/chat-event';
import type { ProviderCall } from '../providers/contract/provider-call';

/**
 * Renders events in a wire format. Stateful: one per stream, called with all its events in order.
 * @returns complete `data: …\n\n` events; an empty string for events without an equivalent
 */
export type EventRenderer = (events: readonly ChatEvent[]) => string;

/** A chat stream in a wire format. Progress, back-pressure, completion and failures are those of the chat stream. */
export class RenderedStream implements ChunkStream {
  constructor(
    private readonly stream: ChatStream,
    private readonly render: EventRenderer,
  ) {}

  get progress(): StreamProgress {
    return this.stream.progress;
  }

  pipe(sink: StreamSink): Promise<void> {
    const { render } = this;
    return this.stream.pipe({
      write: (events) => {
        const rendered = render(events);
        return rendered === '' || sink.write(rendered);
      },
      drained: () => sink.drained(),
    });
  }
}

/** Opens a stream of chat-completion chunks: the provider's own if it has them, else rendered from its events. */
export async function openChatChunks(
  chat: ChatProvider,
  request: ChatRequest,
  call: ProviderCall,
): Promise<ChunkStream> {
  if (chat.openChunkStream !== undefined) return chat.openChunkStream(request, call);
  return new RenderedStream(await chat.openStream(request, call), chatChunks(call.publicModel));
}

/**
 * Renders the chunks of one chat stream. The first chunk has the role, and any text that arrives with the start.
 */
export function chatChunks(model: string): EventRenderer {
  let head = '';
  const kinds: ('function' | 'custom')[] = [];
  const chunk = (delta: object, logprobs: object | null = null, reason: string | null = null): string =>
    `${head}${JSON.stringify(delta)},"logprobs":${JSON.stringify(logprobs)},"finish_reason":${JSON.stringify(reason)}}]}\n\n`;

  const render = (event: ChatEvent, position: number, events: readonly ChatEvent[]): string => {
    switch (event.type) {
      case 'start':
        head = headOf(event, model);
        return chunk({ role: 'assistant', content: null });
      case 'text':
        return chunk({ content: event.text }, logprobsOf('content', event.logprobs));
      case 'refusal':
        return chunk({ refusal: event.text }, logprobsOf('refusal', event.logprobs));
      case 'reasoning':
        return chunk({ reasoning_content: event.text });
      case 'tool_call': {
        const { index, id, kind, name } = event;
        kinds[index] = kind;
        const called = kind === 'custom' ? { custom: { name, input: '' } } : { function: { name, arguments: '' } };
        return chunk({ tool_calls: [{ index, id, type: kind, ...called }] });
      }
      case 'tool_input': {
        const { index, text } = event;
        const input = kinds[index] === 'custom' ? { custom: { input: text } } : { function: { arguments: text } };
        return chunk({ tool_calls: [{ index, ...input }] });
      }
      case 'annotation': {
        const isLast = events[position + 1]?.type !== 'annotation';
        return isLast ? chunk({ annotations: annotationsUpTo(position, events) }) : '';
      }
      case 'finish':
        return chunk({}, null, event.reason);
      // The caller adds usage, with the cost. Items have no equivalent.
      default:
        return '';
    }
  };

  return (events) => {
    const [first, second] = events;
    if (first?.type === 'start' && second?.type === 'text') {
      head = headOf(first, model);
      const opening = chunk({ role: 'assistant', content: second.text }, logprobsOf('content', second.logprobs));
      return opening + events.slice(2).map(render).join('');
    }
    return events.map(render).join('');
  };
}

/**
 * The adjacent annotations that end at `position`. They share a chunk, since clients that accumulate deltas keep only
 * the last list (`ChatCompletionStream` of the `openai` package). The chunk has the shape that clients expect from
 * OpenAI: https://github.com/vercel/ai/blob/main/packages/openai/src/chat/openai-chat-api.ts.
 */
function annotationsUpTo(position: number, events: readonly ChatEvent[]): readonly UrlCitation[] {
  const before = events.findLastIndex(({ type }, index) => index < position && type !== 'annotation');
  return events
    .slice(before + 1, position + 1)
    .flatMap((event) => (event.type === 'annotation' ? [event.annotation] : []));
}

/** The JSON of a chunk up to its delta. */
function headOf({ id, created, fingerprint, serviceTier }: ChatStart, model: string): string {
  const fields = {
    id,
    object: 'chat.completion.chunk',
    created,
    model,
    system_fingerprint: fingerprint,
    service_tier: serviceTier,
  };
  return `data: ${JSON.stringify(fields).slice(0, -1)},"choices":[{"index":0,"delta":`;
}

function logprobsOf(part: 'content' | 'refusal', tokens: readonly TokenLogprob[] | undefined): object | null {
  return tokens === undefined ? null : { content: null, refusal: null, [part]: tokens };
}
