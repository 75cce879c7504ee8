import type { ChatEvent } from '../../contract/chat-event';
import type { CallTimer } from './call-timer';
import { logprobsOf, type LogprobsOptions } from './logprobs';
import type { PlannedToolCall, ReplyPlan } from './reply-plan';
import type { Fault } from './scripted-fault';
import { MOCK_FINGERPRINT, type ReplyIdentity } from './chat-completion';

/** How a reply is streamed. */
export interface StreamPace {
  /** Delay between two pieces; 0: one piece per iteration of the event loop. */
  readonly delayMs: number;
  /** Number of pieces of the text; by default one for each token. */
  readonly chunks: number | undefined;
  readonly fault: Fault | null;
}

/** The events of a planned reply, one piece at a time, or up to its scripted fault. */
export async function* replyEvents(
  { id, created }: ReplyIdentity,
  plan: ReplyPlan,
  options: LogprobsOptions | null,
  { delayMs, chunks, fault }: StreamPace,
  timer: CallTimer,
): AsyncGenerator<readonly ChatEvent[]> {
  const { content, finishReason, usage } = plan;
  const start: ChatEvent = { type: 'start', id, created, fingerprint: MOCK_FINGERPRINT };
  yield content === null ? [start] : [start, { type: 'text', text: '' }];
  let sent = 0;
  for (const piece of piecesOf(plan, chunks, options)) {
    await (delayMs > 0 ? timer.wait(delayMs, 'stream') : timer.nextIteration('stream'));
    if (fault !== null && sent === fault.after) break;
    yield [piece];
    sent += 1;
  }
  if (fault !== null) throw fault.error;
  const finish: ChatEvent = { type: 'finish', reason: finishReason };
  yield usage === null ? [finish] : [finish, { type: 'usage', usage }];
}

function* piecesOf(
  { content, toolCalls }: ReplyPlan,
  chunks: number | undefined,
  options: LogprobsOptions | null,
): Generator<ChatEvent> {
  if (content !== null) yield* textPieces(content, chunks, options);
  for (const [index, call] of toolCalls.entries()) yield* callPieces(call, index);
}

function* textPieces(
  tokens: readonly string[],
  chunks: number | undefined,
  options: LogprobsOptions | null,
): Generator<ChatEvent> {
  const count = Math.min(chunks ?? tokens.length, tokens.length);
  for (let index = 0; index < count; index++) {
    const from = Math.floor((index * tokens.length) / count);
    const to = Math.floor(((index + 1) * tokens.length) / count);
    const piece = tokens.slice(from, to);
    const text = piece.join('');
    yield options === null
      ? { type: 'text', text }
      : { type: 'text', text, logprobs: logprobsOf(piece, from, options) };
  }
}

/** Id, type and name come first, once; then the arguments, token by token. */
function* callPieces({ id, name, custom, arguments: tokens }: PlannedToolCall, index: number): Generator<ChatEvent> {
  yield { type: 'tool_call', index, id, kind: custom ? 'custom' : 'function', name };
  for (const text of tokens) yield { type: 'tool_input', index, text };
}
