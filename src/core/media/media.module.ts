import { Module } from '@nestjs/common';
import { OutboundModule } from '../outbound/outbound.module';
import { EditMasks } from './edit-masks';
import { ArtifactProbe, AudioProbe } from './media-probes';
import { ImageInputs } from './image-inputs';

/** Validation of files from clients and providers. */
@Module({
  imports: [OutboundModule],
  providers: [ArtifactProbe, AudioProbe, EditMasks, ImageInputs],
  exports: [ArtifactProbe, AudioProbe, EditMasks, ImageInputs],
})
export class MediaModule {}
