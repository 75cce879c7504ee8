import { type ChatEvent, isUrlCitation, type TokenLogprob } from '../../contract/chat-event';
import type { ProviderCall } from '../../contract/provider-call';
import { ProviderError } from '../../contract/provider-error';
import { isJsonObject, type JsonObject, parseJsonObject } from '../../kit/json';
import { mapInBandError } from '../../kit/upstream-errors';
import {
  type ChatStreamState,
  type EventTranslator,
  type StreamOutput,
  type StreamRequest,
  UpstreamStream,
} from '../../kit/upstream-stream';
import { toUsageVector } from '../../kit/usage';
import {
  addHeldText,
  failedGeneration,
  isFailedFinish,
  normalizeTexts,
  separateReasoning,
  textBytes,
  thinkTagsFor,
  toAnnotations,
  toCreated,
  toFinishReason,
  toId,
  toLogprobs,
  usageOf,
} from './chat-reply';
import { FrameTemplate, TemplateLearner } from './content-template';
import { fromReasoningDetails } from './reasoning-details';
import { ReasoningRecorder } from './reasoning-replay';
import { SingleChoice } from './single-choice';
import type { ThinkTags } from './think-tags';
import { ToolCallDeltas } from './tool-calls';

const CHUNKS: StreamOutput<Buffer> = {
  translatorFor: (call, state) => new ChatChunkTranslator(call, state),
  join: (frames) => Buffer.concat(frames),
};

const EVENTS: StreamOutput<readonly ChatEvent[]> = {
  translatorFor: (call, state) => new ChatEventTranslator(call, state),
  join: (lists) => lists.flat(),
};

/** Opens a chat stream as chunks for the client, which consist mostly of the upstream's bytes. */
export function openChatChunks(request: StreamRequest): Promise<UpstreamStream<Buffer>> {
  return UpstreamStream.openStream(request, CHUNKS);
}

/** Opens a chat stream as typed events. */
export function openChatEvents(request: StreamRequest): Promise<UpstreamStream<readonly ChatEvent[]>> {
  return UpstreamStream.openStream(request, EVENTS);
}

/**
 * Translates upstream events into chunks for the client, one at a time. Most events of a stream differ only in a few
 * characters of text: those use a template learned from an earlier chunk, without any JSON work. All other events are
 * parsed.
 */
export class ChatChunkTranslator implements EventTranslator<Buffer> {
  readonly finish: EventTranslator<Buffer>['finish'];
  private readonly reader: ChunkReader;
  private readonly recorder: ReasoningRecorder | null;
  private readonly templates = new TemplateLearner();
  private frame: FrameTemplate | null = null;

  constructor(
    private readonly call: ProviderCall,
    private readonly state: ChatStreamState,
  ) {
    this.reader = new ChunkReader(call, state);
    const recorder = ReasoningRecorder.for(call);
    this.recorder = recorder;
    if (recorder !== null) this.finish = () => recorder.store();
  }

  /**
   * @returns the chunk to forward, or `null` for an event that does not concern the client
   * @throws ProviderError for an error inside the stream, or an event that is not JSON
   */
  translate(event: Buffer): Buffer | null {
    const { state } = this;
    if (state.done) return null;
    if (this.frame !== null && state.finishReason === null) {
      const template = this.templates.match(event);
      if (template !== null) {
        state.generatedBytes += template.textBytes;
        if (template.field !== 'content') this.recorder?.addText(template.textOf(event));
        return this.frame.around(event);
      }
    }
    return this.reader.isDone(event) ? null : this.translateParsed(event);
  }

  private translateParsed(event: Buffer): Buffer | null {
    const chunk = parseChunk(event);
    const read = this.reader.read(chunk);
    if (read === null) return null;
    this.recorder?.add(read.delta);
    // The first forwarded chunk carries the role, so it cannot be a template for the others.
    if (!read.isFirst && this.reader.passesTextOn) this.learn(event, chunk);
    return Buffer.from(`data: ${this.toJson(chunk, read)}\n\n`);
  }

  private toJson(chunk: JsonObject, { choice, delta, isFirst }: ReadChunk): string {
    const { id, created, finishReason } = this.state;
    const { logprobs } = choice;
    return JSON.stringify({
      id,
      object: 'chat.completion.chunk',
      created,
      model: this.call.publicModel,
      ...(typeof chunk['system_fingerprint'] === 'string' && { system_fingerprint: chunk['system_fingerprint'] }),
      ...(typeof chunk['service_tier'] === 'string' && { service_tier: chunk['service_tier'] }),
      choices: [
        {
          index: 0,
          delta: isFirst ? { role: 'assistant', ...delta } : delta,
          ...(logprobs !== undefined && { logprobs }),
          finish_reason: finishReason,
        },
      ],
    });
  }

  private learn(event: Buffer, chunk: JsonObject): void {
    const template = this.templates.learn(event, chunk);
    if (template === null) return;
    const { generatedBytes } = this.state;
    const read = this.reader.read(template.example);
    this.state.generatedBytes = generatedBytes;
    this.frame = read && FrameTemplate.of(template, this.toJson(template.example, read));
    if (this.frame === null) this.templates.forget();
  }
}

/** Translates upstream events into typed events. If a learned template matches, only the text is parsed. */
class ChatEventTranslator implements EventTranslator<readonly ChatEvent[]> {
  readonly finish: EventTranslator<readonly ChatEvent[]>['finish'];
  private readonly reader: ChunkReader;
  private readonly recorder: ReasoningRecorder | null;
  private readonly templates = new TemplateLearner();

  constructor(
    call: ProviderCall,
    private readonly state: ChatStreamState,
  ) {
    this.reader = new ChunkReader(call, state);
    const recorder = ReasoningRecorder.for(call);
    this.recorder = recorder;
    if (recorder !== null) this.finish = () => recorder.store();
  }

  /** See `ChatChunkTranslator.translate`. */
  translate(event: Buffer): readonly ChatEvent[] | null {
    const { state } = this;
    if (state.done) return null;
    if (state.finishReason === null) {
      const template = this.templates.match(event);
      if (template !== null) {
        state.generatedBytes += template.textBytes;
        const text = template.textOf(event);
        if (template.field === 'content') return [{ type: 'text', text }];
        this.recorder?.addText(text);
        return [{ type: 'reasoning', text }];
      }
    }
    return this.reader.isDone(event) ? null : this.translateParsed(event);
  }

  private translateParsed(event: Buffer): readonly ChatEvent[] | null {
    const chunk = parseChunk(event);
    const { usage: usageBefore } = this.state;
    const read = this.reader.read(chunk);
    const events: ChatEvent[] = [];
    if (read !== null) {
      this.recorder?.add(read.delta);
      if (read.isFirst) events.push(this.start(chunk));
      else if (this.reader.passesTextOn) this.templates.learn(event, chunk);
      addDelta(events, read);
      if (this.state.finishReason !== null) events.push({ type: 'finish', reason: this.state.finishReason });
    }
    const { usage } = this.state;
    if (usage !== null && usage !== usageBefore) events.push({ type: 'usage', usage });
    return events.length === 0 ? null : events;
  }

  private start({ system_fingerprint: fingerprint, service_tier: serviceTier }: JsonObject): ChatEvent {
    const { id, created } = this.state;
    return {
      type: 'start',
      id,
      created,
      ...(typeof fingerprint === 'string' && { fingerprint }),
      ...(typeof serviceTier === 'string' && { serviceTier }),
    };
  }
}

function addDelta(events: ChatEvent[], { choice, delta }: ReadChunk): void {
  const { content, reasoning_content: reasoning, refusal, tool_calls: calls, annotations } = delta;
  const logprobs = logprobsOf(choice, 'content');
  if (typeof reasoning === 'string' && reasoning !== '') events.push({ type: 'reasoning', text: reasoning });
  const text = typeof content === 'string' ? content : '';
  if (text !== '' || logprobs.length > 0) {
    events.push({ type: 'text', text, ...(logprobs.length > 0 && { logprobs }) });
  }
  if (typeof refusal === 'string' && refusal !== '') {
    const refused = logprobsOf(choice, 'refusal');
    events.push({ type: 'refusal', text: refusal, ...(refused.length > 0 && { logprobs: refused }) });
  }
  // The reader has normalized the calls.
  for (const call of (calls ?? []) as readonly CallDelta[]) addCall(events, call);
  for (const annotation of Array.isArray(annotations) ? annotations.filter(isUrlCitation) : []) {
    events.push({ type: 'annotation', annotation });
  }
}

interface CallDelta {
  readonly index: number;
  readonly id?: string;
  readonly function?: { readonly name?: string; readonly arguments: string };
  readonly custom?: { readonly name?: string; readonly input: string };
}

function addCall(events: ChatEvent[], { index, id, function: called, custom }: CallDelta): void {
  const name = custom?.name ?? called?.name;
  if (id !== undefined && name !== undefined) {
    events.push({ type: 'tool_call', index, id, kind: custom === undefined ? 'function' : 'custom', name });
  }
  const text = custom?.input ?? called?.arguments ?? '';
  if (text !== '') events.push({ type: 'tool_input', index, text });
}

function logprobsOf({ logprobs }: JsonObject, part: 'content' | 'refusal'): readonly TokenLogprob[] {
  const tokens = isJsonObject(logprobs) ? logprobs[part] : null;
  return Array.isArray(tokens) ? (tokens as readonly TokenLogprob[]) : [];
}

const DONE = Buffer.from('[DONE]');

/** The content that a chunk adds to the answer. */
export interface ReadChunk {
  readonly choice: JsonObject;
  /** In the standard shape, without a role. */
  readonly delta: JsonObject;
  /** Whether this is the first chunk of the stream. */
  readonly isFirst: boolean;
}

/** Reads the chunks of one stream in order and keeps its state. */
export class ChunkReader {
  private readonly choice = new SingleChoice();
  private readonly toolCalls = new ToolCallDeltas();
  /** For upstreams that write reasoning into the text. */
  private readonly thinkTags: ThinkTags | null;

  constructor(
    private readonly call: ProviderCall,
    private readonly state: ChatStreamState,
  ) {
    this.thinkTags = thinkTagsFor(call.quirks);
  }

  /** Whether texts are passed on unchanged, so that chunks may serve as templates. */
  get passesTextOn(): boolean {
    return this.thinkTags?.isOver !== false;
  }

  /** Whether the event is the end mark; sets the state. */
  isDone(event: Buffer): boolean {
    if (event.length !== DONE.length || !event.equals(DONE)) return false;
    this.state.done = true;
    return true;
  }

  /**
   * @returns `null` for a chunk that does not concern the client
   * @throws ProviderError for an error inside the stream
   */
  read(chunk: JsonObject): ReadChunk | null {
    const { state, call } = this;
    if (chunk['error'] != null) throw mapInBandError(chunk, 'first_token');
    const usage = toUsageVector(usageOf(chunk), call.quirks);
    if (usage !== null) {
      state.usage = usage;
      state.usageIsFinal = state.finishReason !== null;
    }
    const choice = this.choice.in(chunk);
    // After the finish reason only usage matters: the format has exactly one finish reason, which comes last.
    if (choice === null || state.finishReason !== null) return null;
    const reason = choice['finish_reason'] || null;
    if (isFailedFinish(reason)) throw failedGeneration();
    if (!isJsonObject(choice['delta']) && typeof reason !== 'string') return null;

    const delta = this.toDelta(isJsonObject(choice['delta']) ? choice['delta'] : {});
    if (typeof reason === 'string') {
      this.addHeldCalls(delta);
      if (this.thinkTags !== null) addHeldText(delta, this.thinkTags);
      const annotations = call.quirks.citations === true ? toAnnotations(chunk) : null;
      if (annotations !== null) delta['annotations'] = annotations;
      state.finishReason = toFinishReason(reason, this.toolCalls.any, call.quirks.trustFinishReason === true);
    }
    const isFirst = !state.started;
    if (isFirst) {
      call.trace?.noteModel(chunk['model']);
      state.started = true;
      state.id = toId(chunk['id']);
      state.created = toCreated(chunk['created']);
    }
    const logprobs = toLogprobs(choice, delta, call.quirks);
    return { choice: logprobs === choice['logprobs'] ? choice : { ...choice, logprobs }, delta, isFirst };
  }

  private toDelta(upstream: JsonObject): JsonObject {
    const { state } = this;
    const { reasoningDetails } = this.call.quirks;
    const {
      role: _role,
      tool_calls: toolCalls,
      ...delta
    } = reasoningDetails === true ? fromReasoningDetails(upstream) : upstream;
    normalizeTexts(delta);
    if (this.thinkTags !== null) separateReasoning(delta, this.thinkTags);
    if (upstream['function_call'] != null) state.callsTools = true;
    state.generatedBytes += textBytes(delta);
    if (Array.isArray(toolCalls)) {
      const { calls, bytes } = this.toolCalls.normalize(toolCalls);
      if (calls.length > 0) {
        delta['tool_calls'] = calls;
        state.callsTools = true;
      }
      state.generatedBytes += bytes;
    }
    return delta;
  }

  /**
   * As in a whole reply, a call without a name gets an empty one, so that the client can report the error to the model.
   */
  private addHeldCalls(delta: JsonObject): void {
    const held = this.toolCalls.held();
    if (held.length === 0) return;
    delta['tool_calls'] = [...((delta['tool_calls'] ?? []) as JsonObject[]), ...held];
    this.state.callsTools = true;
  }
}

/** @throws ProviderError for an event that is not a JSON object */
function parseChunk(event: Buffer): JsonObject {
  const chunk = parseJsonObject(event);
  if (chunk === null)
    throw new ProviderError('provider_error', 'The provider sent an event that is not a completion chunk.', {
      phase: 'first_token',
      fallback: true,
    });
  return chunk;
}
