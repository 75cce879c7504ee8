import { Body, Controller, HttpCode, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ValidBody } from '../../core/validation/valid-body.pipe';
import { Idempotent } from '../../auth/idempotency/idempotent.decorator';
import { Spends } from '../../auth/rate-limits/spends.decorator';
import { EmbeddingRequestDto } from './dto/embedding-request.dto';
import { EmbeddingsService } from './embeddings.service';

@Controller('v1/embeddings')
export class EmbeddingsController {
  constructor(private readonly embeddings: EmbeddingsService) {}

  @Post()
  @HttpCode(200)
  @Idempotent()
  @Spends()
  createEmbedding(
    @Body(new ValidBody(EmbeddingRequestDto)) body: EmbeddingRequestDto,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    return this.embeddings.answer(body, request.context, reply);
  }
}
