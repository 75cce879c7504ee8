import { Injectable } from '@nestjs/common';
import type { Answer } from '../core/http/answer';
import type { RequestContext } from '../core/types/request-context';
import type { ExplainedRequest } from '../inference/explanation.types';
import { providerFields } from '../inference/inference-target';
import { chatOf } from '../inference/route-planner';
import type { ChatRequest } from '../providers/contract/chat';
import { openChatChunks } from './chat-chunks';
import { type ChatFormat, ChatInference } from './chat-inference.service';
import { renderCompletion, usageEvent } from './chat-usage';
import type { ChatCompletionRequestDto } from './dto/chat-completion-request.dto';

const OPERATION = 'createChatCompletion';

const CHAT_FORMAT: ChatFormat = {
  complete: (candidate, request, call) => chatOf(candidate).complete(request, call),
  render: ({ body }, bill) => renderCompletion(body, bill),
  openStream: (candidate, request, call) => openChatChunks(chatOf(candidate), request, call),
  lastEvents: usageEvent,
};

/** `POST /v1/chat/completions`. */
@Injectable()
export class ChatService {
  constructor(private readonly inference: ChatInference) {}

  answer(body: ChatCompletionRequestDto, context: RequestContext): Promise<Answer> {
    const chat = toChatRequest(body);
    return this.inference.answer({
      operation: OPERATION,
      body,
      chat,
      context,
      format: CHAT_FORMAT,
    });
  }

  /** The parsed request for explain. @throws GatewayError as {@link answer} before it calls a provider */
  describe(body: ChatCompletionRequestDto, context: RequestContext): ExplainedRequest {
    return this.inference.describe({ operation: OPERATION, body, chat: toChatRequest(body), context });
  }
}

/** The validated body as sent to providers. */
function toChatRequest(body: ChatCompletionRequestDto): ChatRequest {
  return providerFields(body) as unknown as ChatRequest;
}
