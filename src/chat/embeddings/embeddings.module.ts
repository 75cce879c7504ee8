import { Module } from '@nestjs/common';
import { InferenceModule } from '../../inference/inference.module';
import { ModelsModule } from '../../models/models.module';
import { EmbeddingsController } from './embeddings.controller';
import { EmbeddingsService } from './embeddings.service';

/** Text embeddings. */
@Module({
  imports: [InferenceModule, ModelsModule],
  controllers: [EmbeddingsController],
  providers: [EmbeddingsService],
  exports: [EmbeddingsService],
})
export class EmbeddingsModule {}
