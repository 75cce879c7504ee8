/** Whole replies of upstreams that only stream, such as Alibaba's thinking models. */
import type { ChatCompletionResult } from '../../contract/chat';
import type { ChatEvent, ChatStart, UrlCitation } from '../../contract/chat-event';
import { ProviderError } from '../../contract/provider-error';
import type { JsonObject } from '../../kit/json';
import { transportFailure } from '../../kit/upstream-errors';
import type { StreamRequest } from '../../kit/upstream-stream';
import { fromCompletion } from './chat-reply';
import { openChatEvents } from './chat-stream';
import { toCalled } from './tool-calls';

interface GatheredCall {
  readonly start: ChatEvent & { readonly type: 'tool_call' };
  input: string;
}

/**
 * Reads a stream to its end and returns it as a reply.
 * @throws ProviderError as for a whole reply: nothing has reached the client, so failover is possible until the end
 */
export async function fetchGathered(request: StreamRequest): Promise<ChatCompletionResult> {
  const { call } = request;
  const answer = new GatheredAnswer();
  const stream = await openChatEvents(request);
  await stream
    .pipe({
      write: (events) => {
        for (const event of events) answer.add(event);
        return true;
      },
      drained: () => Promise.resolve(),
    })
    .catch((error: unknown) => {
      throw call.signal.aborted ? error : withoutStream(error);
    });
  const { usage, outputBytes } = stream.progress;
  return { ...fromCompletion(answer.toReply(), call), usage, outputBytes };
}

/** The failure as if it had happened before the first token. */
function withoutStream(error: unknown): unknown {
  const { cause } = error as Error;
  return cause instanceof ProviderError ? cause : transportFailure('first_token', error);
}

class GatheredAnswer {
  private start: ChatStart | null = null;
  private readonly texts = { text: '', reasoning: '', refusal: '' };
  private readonly logprobs: JsonObject[] = [];
  private readonly annotations: UrlCitation[] = [];
  private readonly calls = new Map<number, GatheredCall>();
  private finishReason: string | null = null;

  add(event: ChatEvent): void {
    switch (event.type) {
      case 'start':
        this.start = event;
        break;
      case 'text':
      case 'reasoning':
      case 'refusal':
        this.texts[event.type] += event.text;
        if (event.type === 'text') this.logprobs.push(...((event.logprobs ?? []) as unknown as JsonObject[]));
        break;
      case 'annotation':
        this.annotations.push(event.annotation);
        break;
      case 'tool_call':
        this.calls.set(event.index, { start: event, input: '' });
        break;
      case 'tool_input': {
        const call = this.calls.get(event.index);
        if (call !== undefined) call.input += event.text;
        break;
      }
      case 'finish':
        this.finishReason = event.reason;
        break;
    }
  }

  /** A chat completion as the upstream would have sent it. */
  toReply(): JsonObject {
    const { text, reasoning, refusal } = this.texts;
    const calls = [...this.calls.values()].map(toCall);
    const message = {
      content: text === '' ? null : text,
      ...(refusal !== '' && { refusal }),
      ...(reasoning !== '' && { reasoning_content: reasoning }),
      ...(calls.length > 0 && { tool_calls: calls }),
      ...(this.annotations.length > 0 && { annotations: this.annotations }),
    };
    const logprobs = this.logprobs.length > 0 ? { content: this.logprobs, refusal: null } : null;
    return {
      id: this.start?.id,
      created: this.start?.created,
      system_fingerprint: this.start?.fingerprint,
      service_tier: this.start?.serviceTier,
      choices: [{ message, logprobs, finish_reason: this.finishReason }],
    };
  }
}

function toCall({ start: { id, kind, name }, input }: GatheredCall): JsonObject {
  return { id, type: kind, ...toCalled({ kind, name, text: input }) };
}
