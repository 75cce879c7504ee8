import { Body, Controller, HttpCode, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ValidBody } from '../../core/validation/valid-body.pipe';
import { Idempotent } from '../../auth/idempotency/idempotent.decorator';
import { Spends } from '../../auth/rate-limits/spends.decorator';
import { CompletionsService } from './completions.service';
import { CompletionRequestDto } from './dto/completion-request.dto';

@Controller('v1/completions')
export class CompletionsController {
  constructor(private readonly completions: CompletionsService) {}

  @Post()
  @HttpCode(200)
  @Idempotent()
  @Spends()
  createCompletion(
    @Body(new ValidBody(CompletionRequestDto)) body: CompletionRequestDto,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    return this.completions.answer(body, request.context, reply);
  }
}
