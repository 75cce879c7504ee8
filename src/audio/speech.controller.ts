import { Body, Controller, HttpCode, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
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
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    return this.speech.answer(body, request.context, reply);
  }
}
