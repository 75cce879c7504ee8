import { Injectable } from '@nestjs/common';
import type { Answer } from '../core/http/answer';
import type { RequestContext } from '../core/types/request-context';
import type { ExplainedRequest } from '../inference/explanation.types';
import { type ChatFormat, ChatInference } from './chat-inference.service';
import { openChatChunks } from './chat-chunks';
import { renderCompletion, usageEvent } from './chat-usage';
import type { ChatCompletionRequestDto } from './dto/chat-completion-request.dto';
import { toChatRequest } from './to-chat-request';

const OPERATION = 'createChatCompletion';

const CHAT_FORMAT: ChatFormat = {
  render: ({ body }, bill) => renderCompletion(body, bill),
  openStream: openChatChunks,
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
