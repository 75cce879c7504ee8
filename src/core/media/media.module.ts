import { Module } from '@nestjs/common';
import { OutboundModule } from '../outbound/outbound.module';
import { ArtifactProbe, AudioProbe } from './media-probes';
import { ImageInputs } from './image-inputs';

/** Validation of files from clients and providers. */
@Module({
  imports: [OutboundModule],
  providers: [ArtifactProbe, AudioProbe, ImageInputs],
  exports: [ArtifactProbe, AudioProbe, ImageInputs],
})
export class MediaModule {}
