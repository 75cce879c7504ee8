import { Module } from '@nestjs/common';
import { OutboundModule } from '../outbound/outbound.module';
import { ArtifactProbe } from './artifact-probe';
import { AudioProbe } from './audio-probe';
import { ImageInputs } from './image-inputs';

/** Validation of files from clients and providers. */
@Module({
  imports: [OutboundModule],
  providers: [ArtifactProbe, AudioProbe, ImageInputs],
  exports: [ArtifactProbe, AudioProbe, ImageInputs],
})
export class MediaModule {}
