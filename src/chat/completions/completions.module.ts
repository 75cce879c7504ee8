import { Module } from '@nestjs/common';
import { InferenceModule } from '../../inference/inference.module';
import { ModelsModule } from '../../models/models.module';
import { CompletionsController } from './completions.controller';
import { CompletionsService } from './completions.service';

/** Text generation in the legacy completions wire format. */
@Module({
  imports: [InferenceModule, ModelsModule],
  controllers: [CompletionsController],
  providers: [CompletionsService],
  exports: [CompletionsService],
})
export class CompletionsModule {}
