import { Body, Controller, HttpCode, Post, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { Answer } from '../core/http/answer';
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
    @Req() { context }: FastifyRequest,
  ): Promise<Answer> {
    return this.chat.answer(body, context);
  }
}
