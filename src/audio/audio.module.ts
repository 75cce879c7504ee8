import { Module } from '@nestjs/common';
import { InferenceModule } from '../inference/inference.module';
import { MediaModule } from '../core/media/media.module';
import { OutboundModule } from '../core/outbound/outbound.module';
import { ModelsModule } from '../models/models.module';
import { SpeechController } from './speech.controller';
import { SpeechService } from './speech.service';
import { TranscriptionController } from './transcription.controller';
import { TranscriptionService } from './transcription.service';

/** Text to speech and transcription. */
@Module({
  imports: [InferenceModule, MediaModule, ModelsModule, OutboundModule],
  controllers: [SpeechController, TranscriptionController],
  providers: [SpeechService, TranscriptionService],
  exports: [SpeechService, TranscriptionService],
})
export class AudioModule {}
