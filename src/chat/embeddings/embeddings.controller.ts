import { Body, Controller, HttpCode, Post, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { Answer } from '../../core/http/answer';
import { ValidBody } from '../../core/validation/valid-body.pipe';
import { Idempotent, Modality, Spends } from '../../core/http/route.decorators';
import { EmbeddingRequestDto } from './dto/embedding-request.dto';
import { EmbeddingsService } from './embeddings.service';

@Controller('v1/embeddings')
export class EmbeddingsController {
  constructor(private readonly embeddings: EmbeddingsService) {}

  @Post()
  @HttpCode(200)
  @Idempotent()
  @Spends()
  @Modality('embedding')
  createEmbedding(
    @Body(new ValidBody(EmbeddingRequestDto)) body: EmbeddingRequestDto,
    @Req() { context }: FastifyRequest,
  ): Promise<Answer> {
    return this.embeddings.answer(body, context);
  }
}
