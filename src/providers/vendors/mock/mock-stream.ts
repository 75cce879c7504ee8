import type { ChatStream, StreamProgress, StreamSink } from '../../contract/chat';
import type { UsageVector } from '../../contract/usage';
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

interface Piece {
  /** JSON text of the chunk's `delta`. */
  readonly delta: string;
  /** JSON text of the chunk's `logprobs`. */
  readonly logprobs: string;
  readonly outputBytes: number;
}

const NO_LOGPROBS = 'null';

/** Sends a planned reply in pieces, as an upstream that speaks the chat-completion format would. */
export class MockStream implements ChatStream {
  private readonly head: string;
  private outputBytes = 0;
  private finishReason: string | null = null;
  private usage: UsageVector | null = null;

  constructor(
    private readonly identity: ReplyIdentity,
    private readonly plan: ReplyPlan,
    private readonly logprobs: LogprobsOptions | null,
    private readonly pace: StreamPace,
    private readonly timer: CallTimer,
  ) {
    const { id, created, model } = identity;
    const fields = { id, object: 'chat.completion.chunk', created, model, system_fingerprint: MOCK_FINGERPRINT };
    const opening = JSON.stringify(fields);
    this.head = `data: ${opening.slice(0, -1)},"choices":[{"index":0,"delta":`;
  }

  get progress(): StreamProgress {
    return {
      id: this.identity.id,
      created: this.identity.created,
      outputBytes: this.outputBytes,
      usage: this.usage,
      finishReason: this.finishReason,
    };
  }

  async pipe(sink: StreamSink): Promise<void> {
    const { content, finishReason, usage } = this.plan;
    const { delayMs, fault } = this.pace;
    this.timer.check('stream');
    await this.write(sink, this.frame(`{"role":"assistant","content":${content === null ? 'null' : '""'}}`));
    let sent = 0;
    for (const piece of this.pieces()) {
      await (delayMs > 0 ? this.timer.wait(delayMs, 'stream') : this.timer.nextIteration('stream'));
      if (fault !== null && sent === fault.after) {
        break;
      }
      this.outputBytes += piece.outputBytes;
      await this.write(sink, this.frame(piece.delta, piece.logprobs));
      sent += 1;
    }
    if (fault !== null) {
      throw fault.error;
    }
    this.finishReason = finishReason;
    this.usage = usage;
    await this.write(sink, this.frame('{}', NO_LOGPROBS, JSON.stringify(finishReason)));
  }

  private async write(sink: StreamSink, frame: string): Promise<void> {
    if (!sink.write(frame)) {
      await this.timer.waitFor(sink.drained(), 'stream');
    }
  }

  private frame(delta: string, logprobs = NO_LOGPROBS, finishReason = 'null'): string {
    return `${this.head}${delta},"logprobs":${logprobs},"finish_reason":${finishReason}}]}\n\n`;
  }

  private *pieces(): Generator<Piece> {
    if (this.plan.content !== null) {
      yield* this.textPieces(this.plan.content);
    }
    for (const [index, call] of this.plan.toolCalls.entries()) {
      yield* callPieces(call, index);
    }
  }

  private *textPieces(tokens: readonly string[]): Generator<Piece> {
    const count = Math.min(this.pace.chunks ?? tokens.length, tokens.length);
    for (let index = 0; index < count; index++) {
      const from = Math.floor((index * tokens.length) / count);
      const to = Math.floor(((index + 1) * tokens.length) / count);
      const piece = tokens.slice(from, to);
      const text = piece.join('');
      yield {
        delta: `{"content":${JSON.stringify(text)}}`,
        logprobs: this.logprobs === null ? NO_LOGPROBS : toLogprobsText(piece, from, this.logprobs),
        outputBytes: Buffer.byteLength(text),
      };
    }
  }
}

function toLogprobsText(tokens: readonly string[], firstIndex: number, options: LogprobsOptions): string {
  return JSON.stringify({ content: logprobsOf(tokens, firstIndex, options), refusal: null });
}

/** Id, type and name come first, once; then the arguments, token by token. */
function* callPieces(call: PlannedToolCall, index: number): Generator<Piece> {
  const { id, name, custom } = call;
  const opening = custom
    ? { index, id, type: 'custom', custom: { name, input: '' } }
    : { index, id, type: 'function', function: { name, arguments: '' } };
  yield { delta: JSON.stringify({ tool_calls: [opening] }), logprobs: NO_LOGPROBS, outputBytes: 0 };
  for (const text of call.arguments) {
    const piece = custom ? { custom: { input: text } } : { function: { arguments: text } };
    const delta = JSON.stringify({ tool_calls: [{ index, ...piece }] });
    yield { delta, logprobs: NO_LOGPROBS, outputBytes: Buffer.byteLength(text) };
  }
}
