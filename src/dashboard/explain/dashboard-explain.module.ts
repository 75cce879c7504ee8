import { Module } from '@nestjs/common';
import { AudioModule } from '../../audio/audio.module';
import { AuthModule } from '../../auth/auth.module';
import { AuthGuardsModule } from '../../auth/guards/auth-guards.module';
import { ChatModule } from '../../chat/chat.module';
import { CompletionsModule } from '../../chat/completions/completions.module';
import { EmbeddingsModule } from '../../chat/embeddings/embeddings.module';
import { ImagesModule } from '../../images/images.module';
import { InferenceModule } from '../../inference/inference.module';
import { MediaJobsModule } from '../../media-jobs/media-jobs.module';
import { ResponsesModule } from '../../responses/responses.module';
import { ExplainController } from './explain.controller';
import { ExplainedOperations } from './explained-operations';

/** Predicts the outcome of a request without running it. */
@Module({
  imports: [
    AudioModule,
    AuthModule,
    AuthGuardsModule,
    ChatModule,
    CompletionsModule,
    EmbeddingsModule,
    ImagesModule,
    InferenceModule,
    MediaJobsModule,
    ResponsesModule,
  ],
  controllers: [ExplainController],
  providers: [ExplainedOperations],
})
export class DashboardExplainModule {}
