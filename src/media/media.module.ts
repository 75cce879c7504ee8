import { Module } from '@nestjs/common';
import { OutboundModule } from '../outbound/outbound.module';
import { ArtifactProbe } from './artifact-probe';
import { AudioProbe } from './audio-probe';
import { ImageInputs } from './image-inputs';

/** Files of clients and of providers, made sure of before anything else is done with them. */
@Module({
  imports: [OutboundModule],
  providers: [ArtifactProbe, AudioProbe, ImageInputs],
  exports: [ArtifactProbe, AudioProbe, ImageInputs],
})
export class MediaModule {}
