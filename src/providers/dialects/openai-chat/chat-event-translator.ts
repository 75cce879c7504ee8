import type { ChatEvent, TokenLogprob } from '../../contract/chat-event';
import type { ProviderCall } from '../../contract/provider-call';
import { isJsonObject, type JsonObject } from '../../kit/json-object';
import type { ChatStreamState, EventTranslator } from '../../kit/upstream-stream';
import { ChunkReader, parseChunk, type ReadChunk } from './chunk-reader';
import { TemplateLearner } from './content-template';

/** Translates upstream events into typed events. Text that a learned template finds is the only part that is parsed. */
export class ChatEventTranslator implements EventTranslator<readonly ChatEvent[]> {
  private readonly reader: ChunkReader;
  private readonly templates = new TemplateLearner();

  constructor(
    call: ProviderCall,
    private readonly state: ChatStreamState,
  ) {
    this.reader = new ChunkReader(call, state);
  }

  /** As `ChatChunkTranslator.translate`. */
  translate(event: Buffer): readonly ChatEvent[] | null {
    const { state } = this;
    if (state.done) return null;
    if (state.finishReason === null) {
      const template = this.templates.match(event);
      if (template !== null) {
        state.generatedBytes += template.textBytes;
        return [{ type: template.field === 'content' ? 'text' : 'reasoning', text: template.textOf(event) }];
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
      if (read.isFirst) events.push(this.start(chunk));
      else this.templates.learn(event, chunk);
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
  const { content, reasoning_content: reasoning, refusal, tool_calls: calls } = delta;
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
  // Normalized by the reader.
  for (const call of (calls ?? []) as readonly CallDelta[]) addCall(events, call);
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
