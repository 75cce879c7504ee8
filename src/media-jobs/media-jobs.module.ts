import { Module, type OnApplicationBootstrap } from '@nestjs/common';
import { IdempotencyModule } from '../auth/idempotency/idempotency.module';
import { LimitsModule } from '../auth/rate-limits/limits.module';
import { ModelsModule } from '../models/models.module';
import { WakeUpQueue } from '../core/queue/wake-up-queue';
import { JobRoutes } from './job-routes';
import { JobSubmissionService } from './job-submission.service';
import { JobsController } from './jobs.controller';
import { JobsService } from './jobs.service';
import { MediaJobsCoreModule } from './media-jobs-core.module';
import { MusicController } from './music.controller';
import { VideoController } from './video.controller';

/** The video, music and job endpoints (`README.md`). Workers may run in another process. */
@Module({
  imports: [IdempotencyModule, LimitsModule, MediaJobsCoreModule, ModelsModule],
  controllers: [VideoController, MusicController, JobsController],
  providers: [JobSubmissionService, JobsService],
  exports: [JobSubmissionService, MediaJobsCoreModule],
})
export class MediaJobsModule implements OnApplicationBootstrap {
  constructor(
    private readonly wakeUps: WakeUpQueue,
    private readonly routes: JobRoutes,
  ) {}

  /** Connects early, so that the first job does not have to wait for the sweep. */
  onApplicationBootstrap(): void {
    if (this.routes.isImplemented('video') || this.routes.isImplemented('music')) void this.wakeUps.open();
  }
}
