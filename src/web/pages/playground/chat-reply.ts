import { isApiError } from '../../api/errors';
import { eventData } from '../../api/event-stream';
import { fallbackCallsOf, readReceipt } from '../../api/requests';
import { callV1, requestIdOf } from '../../api/v1';

export interface ReplyFailure {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  readonly requestId: string | null;
  readonly retryAfterSeconds: number | null;
}

/** What a model has answered so far. */
export interface ChatReply {
  readonly state: 'waiting' | 'streaming' | 'done' | 'stopped' | 'failed';
  readonly text: string;
  readonly reasoning: string;
  /** The model that answers, which may be a fallback. */
  readonly model: string | null;
  readonly requestId: string | null;
  readonly promptTokens: number | null;
  readonly completionTokens: number | null;
  readonly costMicro: number | null;
  /** How many calls failed before another deployment answered; absent while that is not known. */
  readonly fallbackCalls?: number;
  readonly firstTokenMs: number | null;
  readonly totalMs: number | null;
  readonly failure: ReplyFailure | null;
}

const RECEIPT_PAUSES_MS = [300, 600, 1200, 2400];

const NOTHING: ChatReply = {
  state: 'waiting',
  text: '',
  reasoning: '',
  model: null,
  requestId: null,
  promptTokens: null,
  completionTokens: null,
  costMicro: null,
  firstTokenMs: null,
  totalMs: null,
  failure: null,
};

interface Chunk {
  readonly model?: string;
  readonly choices?: ReadonlyArray<{
    readonly delta?: { readonly content?: string | null; readonly reasoning_content?: string | null };
  }>;
  readonly usage?: {
    readonly prompt_tokens: number;
    readonly completion_tokens: number;
    readonly x_llm_cost_micro: number;
  } | null;
  readonly error?: { readonly code: string; readonly message: string; readonly request_id?: string };
}

/** Adds a chunk of the stream to the reply. */
function withChunk(reply: ChatReply, chunk: Chunk, elapsedMs: number): ChatReply {
  if (chunk.error !== undefined) {
    const { code, message, request_id: requestId = reply.requestId } = chunk.error;
    return { ...reply, state: 'failed', failure: { status: 200, code, message, requestId, retryAfterSeconds: null } };
  }
  const delta = chunk.choices?.[0]?.delta;
  const [text, reasoning] = [delta?.content ?? '', delta?.reasoning_content ?? ''];
  const { usage } = chunk;
  return {
    ...reply,
    state: 'streaming',
    text: reply.text + text,
    reasoning: reply.reasoning + reasoning,
    model: chunk.model ?? reply.model,
    firstTokenMs: reply.firstTokenMs ?? (text + reasoning === '' ? null : elapsedMs),
    ...(usage != null && {
      promptTokens: usage.prompt_tokens,
      completionTokens: usage.completion_tokens,
      costMicro: usage.x_llm_cost_micro,
    }),
  };
}

/** Output tokens per second after the first one; null when it cannot be said. */
export function tokensPerSecond({ completionTokens, firstTokenMs, totalMs }: ChatReply): number | null {
  if (completionTokens === null || firstTokenMs === null || totalMs === null || totalMs <= firstTokenMs) return null;
  return Math.round((completionTokens * 10_000) / (totalMs - firstTokenMs)) / 10;
}

/**
 * Sends a chat and follows its stream.
 * @param onProgress gets the whole reply after each chunk; the last one is final
 */
export async function followChat(
  organizationId: string,
  body: object,
  signal: AbortSignal,
  onProgress: (reply: ChatReply) => void,
): Promise<ChatReply> {
  const startedAt = performance.now();
  const elapsedMs = (): number => Math.round(performance.now() - startedAt);
  let reply = NOTHING;
  const show = (next: ChatReply): void => {
    reply = next;
    onProgress(next);
  };
  try {
    show(reply);
    const response = await callV1(organizationId, '/v1/chat/completions', { body, signal });
    show({ ...reply, requestId: requestIdOf(response), model: response.headers.get('x-llm-model') });
    if (response.body === null) throw new Error('The reply has no body.');
    for await (const data of eventData(response.body)) {
      show(withChunk(reply, JSON.parse(data) as Chunk, elapsedMs()));
    }
    if (reply.state !== 'failed') show({ ...reply, state: 'done' });
  } catch (error) {
    show(signal.aborted ? { ...reply, state: 'stopped' } : { ...reply, state: 'failed', failure: failureOf(error) });
  }
  show({ ...reply, totalMs: elapsedMs() });
  return reply;
}

/** The reply with what its receipt says. */
export async function settled(organizationId: string, reply: ChatReply): Promise<ChatReply> {
  if (reply.requestId === null) return reply;
  if (reply.costMicro === null) return { ...reply, costMicro: await chargeOf(organizationId, reply.requestId) };
  return { ...reply, fallbackCalls: await fallbackCallsOf(organizationId, reply.requestId) };
}

/**
 * What a stream that was cut off has cost: its receipt appears when the gateway has noticed the end. Null when the
 * receipt does not appear soon.
 */
async function chargeOf(organizationId: string, requestId: string): Promise<number | null> {
  for (const pauseMs of RECEIPT_PAUSES_MS) {
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
    const receipt = await readReceipt(organizationId, requestId).catch(() => null);
    if (receipt !== null) return receipt.cost_micro;
  }
  return null;
}

function failureOf(error: unknown): ReplyFailure {
  if (!isApiError(error)) {
    const message = 'The connection was lost before the answer was complete.';
    return { status: 0, code: 'connection_lost', message, requestId: null, retryAfterSeconds: null };
  }
  const { status, code, message, requestId = null, retryAfterSeconds = null } = error;
  return { status, code, message, requestId, retryAfterSeconds };
}
