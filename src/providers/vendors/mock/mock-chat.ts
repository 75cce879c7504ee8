import { randomUUID } from 'node:crypto';
import type { Clock } from '../../../core/time/clock';
import type { ChatCompletionResult, ChatProvider, ChatRequest, ChatStream } from '../../contract/chat';
import type { ProviderCall } from '../../contract/provider-call';
import { openEventStream } from '../../kit/event-stream';
import { CallTimer } from './call-timer';
import { readConversation, type Conversation } from './conversation';
import { logprobsOf, type LogprobsOptions } from './logprobs';
import { replyEvents, type StreamPace } from './mock-stream';
import { planReply, type ReplyPlan } from './reply-plan';
import type { Script } from './script';
import { replyFaultOf, streamFaultOf } from './scripted-fault';
import { waitForFirstByte } from './scripted-fault';
import { toChatCompletion, type ReplyIdentity } from './chat-completion';

const DEFAULT_TOKEN_DELAY_MS = 2;

/** Chat without a model: a planned reply, sent whole or in pieces, or a scripted failure. */
export class MockChat implements ChatProvider {
  constructor(private readonly clock: Clock) {}

  async complete(request: ChatRequest, call: ProviderCall): Promise<ChatCompletionResult> {
    const timer = new CallTimer(call, this.clock);
    timer.check('headers');
    const conversation = readConversation(request);
    const { script } = conversation;
    const plan = planReply(request, conversation);
    await waitForFirstByte(script, timer, this.clock, (script.delayMs ?? 0) * pieceCount(plan, script));
    const fault = replyFaultOf(script);
    if (fault !== null) {
      throw fault;
    }
    const options = readLogprobsOptions(request, conversation);
    const logprobs = options === null || plan.content === null ? null : logprobsOf(plan.content, 0, options);
    return toChatCompletion(this.newIdentity(call), plan, logprobs);
  }

  async openStream(request: ChatRequest, call: ProviderCall): Promise<ChatStream> {
    const timer = new CallTimer(call, this.clock);
    timer.check('headers');
    const conversation = readConversation(request);
    const { script } = conversation;
    const plan = planReply(request, conversation);
    await waitForFirstByte(script, timer, this.clock, 0);
    const fault = streamFaultOf(script);
    if (fault?.after === 0) {
      throw fault.error;
    }
    const pace: StreamPace = {
      delayMs: script.delayMs ?? DEFAULT_TOKEN_DELAY_MS,
      chunks: script.chunks,
      fault,
    };
    const options = readLogprobsOptions(request, conversation);
    return openEventStream(replyEvents(this.newIdentity(call), plan, options, pace, timer), call, this.clock);
  }

  private newIdentity(call: ProviderCall): ReplyIdentity {
    return {
      id: `chatcmpl-${randomUUID()}`,
      created: Math.floor(this.clock.now() / 1000),
      model: call.publicModel,
    };
  }
}

function pieceCount(plan: ReplyPlan, script: Script): number {
  const tokens = plan.toolCalls.reduce((sum, call) => sum + call.arguments.length, plan.content?.length ?? 0);
  return Math.min(script.chunks ?? tokens, tokens);
}

function readLogprobsOptions(request: ChatRequest, { seed }: Conversation): LogprobsOptions | null {
  return request.logprobs === true ? { topCount: Number(request.top_logprobs ?? 0), seed } : null;
}
