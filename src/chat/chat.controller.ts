import { Body, Controller, HttpCode, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ValidBody } from '../core/validation/valid-body.pipe';
import { Idempotent } from '../auth/idempotency/idempotent.decorator';
import { Spends } from '../auth/rate-limits/spends.decorator';
import { ChatService } from './chat.service';
import { ChatCompletionRequestDto } from './dto/chat-completion-request.dto';

@Controller('v1/chat/completions')
export class ChatController {
  constructor(private readonly chat: ChatService) {}

  @Spends()
  @Post()
  @HttpCode(200)
  @Idempotent()
  createChatCompletion(
    @Body(new ValidBody(ChatCompletionRequestDto)) body: ChatCompletionRequestDto,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    return this.chat.answer(body, request.context, reply);
  }
}
