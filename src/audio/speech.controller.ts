import { Body, Controller, HttpCode, Post, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { Answer } from '../core/http/answer';
import { ValidBody } from '../core/validation/valid-body.pipe';
import { Idempotent, Modality, Spends } from '../core/http/route.decorators';
import { SpeechRequestDto } from './dto/speech-request.dto';
import { SpeechService } from './speech.service';

@Controller('v1/audio/speech')
export class SpeechController {
  constructor(private readonly speech: SpeechService) {}

  @Post()
  @HttpCode(200)
  @Idempotent()
  @Spends()
  @Modality('speech')
  createSpeech(
    @Body(new ValidBody(SpeechRequestDto)) body: SpeechRequestDto,
    @Req() { context }: FastifyRequest,
  ): Promise<Answer> {
    return this.speech.answer(body, context);
  }
}
