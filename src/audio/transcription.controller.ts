import { Body, Controller, HttpCode, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ValidForm, type ValidatedForm } from '../common/validation/valid-form.pipe';
import { Idempotent } from '../idempotency/idempotent.decorator';
import { Spends } from '../limits/spends.decorator';
import { TakesForm } from '../media/takes-form.decorator';
import { TRANSCRIPTION_FIELD_KINDS, TranscriptionFieldsDto } from './dto/transcription-fields.dto';
import { TranscriptionService } from './transcription.service';

@Controller('v1/audio/transcriptions')
export class TranscriptionController {
  constructor(private readonly transcriptions: TranscriptionService) {}

  @Post()
  @HttpCode(200)
  @Idempotent()
  @Spends()
  @TakesForm({ files: { file: 1 } })
  createTranscription(
    @Body(new ValidForm(TranscriptionFieldsDto, TRANSCRIPTION_FIELD_KINDS)) form: ValidatedForm<TranscriptionFieldsDto>,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    return this.transcriptions.answer(form, request.context, reply);
  }
}
