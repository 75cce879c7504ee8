import { systemClock } from '../../../core/time/clock';
import type { ChatStream } from '../../contract/chat';
import type { ChatEvent } from '../../contract/chat-event';
import type { ProviderCall } from '../../contract/provider-call';
import type { JsonObject } from '../../kit/json';
import {
  type ChatStreamState,
  type EventTranslator,
  type StreamRequest,
  UpstreamStream,
} from '../../kit/upstream-stream';
import { StreamedSources } from './annotations';
import {
  type CalledFunction,
  parseResponse,
  type ReadResponse,
  type ResponseReader,
  toAnswerId,
} from './response-reader';
import { type SignedCall, storeSignatures } from './thought-signatures';

type Events = readonly ChatEvent[];

/** Some hosts end the stream as OpenAI does. */
const DONE = Buffer.from('[DONE]');

/** A streamed answer as typed events. */
export function openGenerateStream(request: StreamRequest, reader: ResponseReader): Promise<ChatStream> {
  return UpstreamStream.openStream<Events>(request, {
    translatorFor: (call, state) => new GenerateTranslator(reader, state, call),
    join: (lists) => lists.flat(),
  });
}

/** Translates pieces of a response; each piece has the shape of a whole response. */
class GenerateTranslator implements EventTranslator<Events> {
  private readonly calls: SignedCall[] = [];
  private readonly sources = new StreamedSources();
  private stored: Promise<void> | undefined;

  constructor(
    private readonly reader: ResponseReader,
    private readonly state: ChatStreamState,
    private readonly call: Pick<ProviderCall, 'trace' | 'openVault'>,
  ) {}

  /** @throws ProviderError for an error inside the stream, or an event that is not a response */
  translate(event: Buffer): Events | null {
    const { state } = this;
    if (state.done) return null;
    if (event.length === DONE.length && event.equals(DONE)) {
      state.done = true;
      return null;
    }
    const response = parseResponse(event);
    const events: ChatEvent[] = [];
    const wasFinished = state.finishReason !== null;
    const read = this.reader.read(response);
    if (!wasFinished) this.addCandidate(events, response, read);
    this.addUsage(events, read);
    return events.length === 0 ? null : events;
  }

  async finish(): Promise<void> {
    await this.stored;
  }

  private addCandidate(events: ChatEvent[], response: JsonObject, { candidate }: ReadResponse): void {
    const { state } = this;
    if (candidate === null) return;
    if (!state.started) events.push(this.start(response));
    const { reasoning, text, logprobs, calls, finishReason, source } = candidate;
    if (reasoning !== '') events.push({ type: 'reasoning', text: reasoning });
    if (text !== '' || logprobs.length > 0) {
      events.push({ type: 'text', text, ...(logprobs.length > 0 && { logprobs }) });
    }
    state.generatedBytes += Buffer.byteLength(reasoning) + Buffer.byteLength(text);
    for (const call of calls) this.addCall(events, call);
    this.sources.add(source, text);
    if (finishReason === null) return;
    for (const annotation of this.sources.toAnnotations()) events.push({ type: 'annotation', annotation });
    state.finishReason = finishReason;
    // Starts before the finish reason is passed on, since a client may then send the results of its calls at once.
    this.stored = storeSignatures(this.calls, this.call.openVault);
    events.push({ type: 'finish', reason: finishReason });
  }

  private start(response: JsonObject): ChatEvent {
    const { state } = this;
    this.call.trace?.noteModel(response['modelVersion']);
    state.started = true;
    state.id = toAnswerId(response);
    state.created = Math.floor(systemClock.now() / 1000);
    return { type: 'start', id: state.id, created: state.created };
  }

  private addCall(events: ChatEvent[], call: CalledFunction): void {
    const index = this.calls.length;
    this.calls.push({ id: call.id, signature: call.signature });
    this.state.callsTools = true;
    this.state.generatedBytes += Buffer.byteLength(call.arguments);
    events.push({ type: 'tool_call', index, id: call.id, kind: 'function', name: call.name });
    events.push({ type: 'tool_input', index, text: call.arguments });
  }

  /** Every piece has running totals; only the last totals are passed on. */
  private addUsage(events: ChatEvent[], { usage }: ReadResponse): void {
    const { state } = this;
    if (usage === null) return;
    state.usage = usage;
    if (state.finishReason === null) return;
    state.usageIsFinal = true;
    events.push({ type: 'usage', usage });
  }
}
