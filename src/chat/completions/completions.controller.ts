import { Body, Controller, HttpCode, Post, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { Answer } from '../../core/http/answer';
import { ValidBody } from '../../core/validation/valid-body.pipe';
import { Idempotent, Modality, Spends } from '../../core/http/route.decorators';
import { CompletionsService } from './completions.service';
import { CompletionRequestDto } from './dto/completion-request.dto';

@Controller('v1/completions')
export class CompletionsController {
  constructor(private readonly completions: CompletionsService) {}

  @Post()
  @HttpCode(200)
  @Idempotent()
  @Spends()
  @Modality('text')
  createCompletion(
    @Body(new ValidBody(CompletionRequestDto)) body: CompletionRequestDto,
    @Req() { context }: FastifyRequest,
  ): Promise<Answer> {
    return this.completions.answer(body, context);
  }
}
