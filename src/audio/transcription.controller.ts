import { Body, Controller, HttpCode, Post, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { Answer } from '../core/http/answer';
import { ValidForm, type ValidatedForm } from '../core/validation/valid-form.pipe';
import { Idempotent, Modality, Spends, TakesForm } from '../core/http/route.decorators';
import { TRANSCRIPTION_FIELD_KINDS, TranscriptionFieldsDto } from './dto/transcription-fields.dto';
import { TranscriptionService } from './transcription.service';

@Controller('v1/audio/transcriptions')
export class TranscriptionController {
  constructor(private readonly transcriptions: TranscriptionService) {}

  @Post()
  @HttpCode(200)
  @Idempotent()
  @Spends()
  @Modality('transcription')
  @TakesForm({ files: { file: 1 } })
  createTranscription(
    @Body(new ValidForm(TranscriptionFieldsDto, TRANSCRIPTION_FIELD_KINDS)) form: ValidatedForm<TranscriptionFieldsDto>,
    @Req() { context }: FastifyRequest,
  ): Promise<Answer> {
    return this.transcriptions.answer(form, context);
  }
}
