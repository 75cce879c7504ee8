import { Module } from '@nestjs/common';
import { IdempotencyModule } from '../auth/idempotency/idempotency.module';
import { InferenceModule } from '../inference/inference.module';
import { MediaModule } from '../core/media/media.module';
import { ModelsModule } from '../models/models.module';
import { OutboundModule } from '../core/outbound/outbound.module';
import { StorageModule } from '../core/storage/storage.module';
import { ImageDelivery } from './image-delivery';
import { ImageMaker } from './image-maker';
import { ImagesController } from './images.controller';
import { ImagesService } from './images.service';

/** Image generation and image edits. */
@Module({
  imports: [IdempotencyModule, InferenceModule, MediaModule, ModelsModule, OutboundModule, StorageModule],
  controllers: [ImagesController],
  providers: [ImageDelivery, ImageMaker, ImagesService],
  exports: [ImagesService],
})
export class ImagesModule {}
