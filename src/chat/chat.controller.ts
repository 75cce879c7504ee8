import { Body, Controller, HttpCode, Post, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { Answer } from '../core/http/answer';
import { ValidBody } from '../core/validation/valid-body.pipe';
import { Idempotent, Modality, Spends } from '../core/http/route.decorators';
import { ChatService } from './chat.service';
import { ChatCompletionRequestDto } from './dto/chat-completion-request.dto';

@Controller('v1/chat/completions')
export class ChatController {
  constructor(private readonly chat: ChatService) {}

  @Spends()
  @Modality('text')
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
