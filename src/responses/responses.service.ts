import { Inject, Injectable } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { ChatInference } from '../chat/chat-inference.service';
import { CLOCK, type Clock } from '../common/clock';
import type { RequestContext } from '../common/request-context';
import type { InferenceInput } from '../inference/inference.types';
import type { ResponseRequestDto } from './dto/response-request.dto';
import { ResponseFormat } from './response-format';
import { toChatRequest } from './to-chat-request';

const OPERATION = 'createResponse';

/** `POST /v1/responses`: asks as a chat, and gives the answer its other shape. */
@Injectable()
export class ResponsesService {
  constructor(
    private readonly inference: ChatInference,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  async answer(body: ResponseRequestDto, context: RequestContext, reply: FastifyReply): Promise<void> {
    const { chat, paths } = toChatRequest(body);
    const format = new ResponseFormat(body, context.requestId, this.clock);
    try {
      await this.inference.answer({ operation: OPERATION, body, chat, context, reply, format });
    } catch (error) {
      throw paths.translateError(error);
    }
  }

  /** What the request comes to. @throws GatewayError as {@link answer} would before anybody is asked */
  describe(body: ResponseRequestDto, context: RequestContext): InferenceInput {
    const { chat, paths } = toChatRequest(body);
    try {
      return this.inference.describe({ operation: OPERATION, body, chat, context });
    } catch (error) {
      throw paths.translateError(error);
    }
  }
}
