import { Module, type OnApplicationBootstrap } from '@nestjs/common';
import { IdempotencyModule } from '../idempotency/idempotency.module';
import { LimitsModule } from '../limits/limits.module';
import { ModelsModule } from '../models/models.module';
import { WakeUpQueue } from '../queue/wake-up-queue';
import { JobRoutes } from './job-routes';
import { JobSubmissionService } from './job-submission.service';
import { JobsController } from './jobs.controller';
import { JobsService } from './jobs.service';
import { MediaJobsCoreModule } from './media-jobs-core.module';
import { MusicController } from './music.controller';
import { VideoController } from './video.controller';

/** The endpoints of video, music and jobs (`README.md`). Workers are elsewhere, perhaps in another process. */
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

  /** So that the first job is not the one that has to wait for the sweep. */
  onApplicationBootstrap(): void {
    if (this.routes.isImplemented('video') || this.routes.isImplemented('music')) void this.wakeUps.open();
  }
}
