import { Body, Controller, HttpCode, Post, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { Answer } from '../core/http/answer';
import { ValidBody } from '../core/validation/valid-body.pipe';
import { Idempotent } from '../auth/idempotency/idempotent.decorator';
import { Spends } from '../auth/rate-limits/spends.decorator';
import { SpeechRequestDto } from './dto/speech-request.dto';
import { SpeechService } from './speech.service';

@Controller('v1/audio/speech')
export class SpeechController {
  constructor(private readonly speech: SpeechService) {}

  @Post()
  @HttpCode(200)
  @Idempotent()
  @Spends()
  createSpeech(
    @Body(new ValidBody(SpeechRequestDto)) body: SpeechRequestDto,
    @Req() { context }: FastifyRequest,
  ): Promise<Answer> {
    return this.speech.answer(body, context);
  }
}
