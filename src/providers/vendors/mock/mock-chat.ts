import { randomUUID } from 'node:crypto';
import type { Clock } from '../../../core/time/clock';
import type { ChatCompletionResult, ChatProvider, ChatRequest, ChatStream } from '../../contract/chat';
import type { ChatEvent, TokenLogprob } from '../../contract/chat-event';
import type { ProviderCall } from '../../contract/provider-call';
import { openEventStream } from '../../kit/event-stream';
import { type Conversation, lastUserText, readConversation } from './conversation';
import { type PlannedToolCall, planReply, type ReplyPlan } from './reply-plan';
import { ScriptedCall } from './scripted-call';
import { seededNumber } from './text';

const TOKEN_DELAY_MS = 2;
const FINGERPRINT = 'fp_mock';

/** Log probabilities of tokens; `first` is the index of the first one in the whole text. */
type Rating = (tokens: readonly string[], first: number) => TokenLogprob[];

/** Chat without a model: a planned reply, sent whole or in pieces, or a scripted failure. */
export class MockChat implements ChatProvider {
  constructor(private readonly clock: Clock) {}

  async complete(request: ChatRequest, call: ProviderCall): Promise<ChatCompletionResult> {
    const { scripted, plan, rate } = this.prepare(request, call);
    const { content, toolCalls, finishReason, usage } = plan;
    const { delayMs = 0, chunks = Infinity } = scripted.script;
    const tokens = [...(content ?? []), ...toolCalls.flatMap(({ input }) => input)];
    await scripted.reply(delayMs * Math.min(chunks, tokens.length));
    const message = {
      role: 'assistant',
      content: content?.join('') ?? null,
      refusal: null,
      ...(toolCalls.length > 0 && { tool_calls: toolCalls.map(toWholeCall) }),
    };
    const logprobs = rate === null || content === null ? null : { content: rate(content, 0), refusal: null };
    return {
      body: {
        id: newReplyId(),
        object: 'chat.completion',
        created: this.nowSeconds(),
        model: call.publicModel,
        choices: [{ index: 0, message, logprobs, finish_reason: finishReason }],
        system_fingerprint: FINGERPRINT,
      },
      usage,
      outputBytes: Buffer.byteLength(tokens.join('')),
    };
  }

  async openStream(request: ChatRequest, call: ProviderCall): Promise<ChatStream> {
    const { scripted, plan, rate } = this.prepare(request, call);
    await scripted.begin();
    const start = { type: 'start', id: newReplyId(), created: this.nowSeconds(), fingerprint: FINGERPRINT } as const;
    return openEventStream(replyEvents(start, plan, rate, scripted), call, this.clock);
  }

  private prepare(request: ChatRequest, call: ProviderCall) {
    const { text, param } = lastUserText(request);
    const scripted = new ScriptedCall(text, param, call, this.clock);
    const conversation = readConversation(request, scripted.text);
    return { scripted, plan: planReply(request, conversation, scripted.script), rate: ratingOf(request, conversation) };
  }

  private nowSeconds(): number {
    return Math.floor(this.clock.now() / 1_000);
  }
}

function newReplyId(): string {
  return `chatcmpl-${randomUUID()}`;
}

function toWholeCall({ id, kind, name, input }: PlannedToolCall): object {
  const text = input.join('');
  return kind === 'custom'
    ? { id, type: kind, custom: { name, input: text } }
    : { id, type: kind, function: { name, arguments: text } };
}

/** The events of a planned reply, one piece at a time, or up to its scripted failure. */
async function* replyEvents(
  start: ChatEvent,
  { content, toolCalls, finishReason, usage }: ReplyPlan,
  rate: Rating | null,
  scripted: ScriptedCall,
): AsyncGenerator<readonly ChatEvent[]> {
  yield content === null ? [start] : [start, { type: 'text', text: '' }];
  const pieces = content === null ? callPieces(toolCalls) : textPieces(content, scripted.script.chunks, rate);
  for await (const piece of scripted.paced(pieces, TOKEN_DELAY_MS)) yield [piece];
  const finish: ChatEvent = { type: 'finish', reason: finishReason };
  yield usage === null ? [finish] : [finish, { type: 'usage', usage }];
}

function* textPieces(tokens: readonly string[], chunks: number | undefined, rate: Rating | null): Generator<ChatEvent> {
  const count = Math.min(chunks ?? tokens.length, tokens.length);
  for (let index = 0; index < count; index++) {
    const from = Math.floor((index * tokens.length) / count);
    const piece = tokens.slice(from, Math.floor(((index + 1) * tokens.length) / count));
    yield { type: 'text', text: piece.join(''), ...(rate !== null && { logprobs: rate(piece, from) }) };
  }
}

/** Id, type and name come first, once; then the input, token by token. */
function* callPieces(calls: readonly PlannedToolCall[]): Generator<ChatEvent> {
  for (const [index, { id, kind, name, input }] of calls.entries()) {
    yield { type: 'tool_call', index, id, kind, name };
    for (const text of input) yield { type: 'tool_input', index, text };
  }
}

const OTHER_TOKENS = ' the| a| and| of| to| in| is| it| on| as| for| by| at| or| an| be| we| so| if| no| but'.split(
  '|',
);

/** Plausible: the chosen token has most of the probability, others share the rest. `null` unless requested. */
function ratingOf({ logprobs, top_logprobs: top }: ChatRequest, { seed }: Conversation): Rating | null {
  if (logprobs !== true) return null;
  return (tokens, first) =>
    tokens.map((token, index) => {
      const share = 0.6 + 0.39 * seededNumber(seed + first + index);
      const others = OTHER_TOKENS.filter((other) => other !== token);
      const ranked = [token, ...others].slice(0, Number(top ?? 0));
      const top_logprobs = ranked.map((each, rank) => rated(each, rank === 0 ? share : (1 - share) / 2 ** rank));
      return { ...rated(token, share), top_logprobs };
    });
}

function rated(token: string, share: number) {
  return { token, logprob: Math.log(share), bytes: Array.from(Buffer.from(token)) };
}
