import { Module } from '@nestjs/common';
import { AttemptsModule } from '../auth/rate-limits/attempts.module';
import { IdempotencyModule } from '../auth/idempotency/idempotency.module';
import { LimitsModule } from '../auth/rate-limits/limits.module';
import { ModelsModule } from '../models/models.module';
import { OutboundModule } from '../core/outbound/outbound.module';
import { JobReportSignatures } from './job-report-signatures';
import { JobReports } from './job-reports';
import { JobReportsController } from './job-reports.controller';
import { JobSubmissionService } from './job-submission.service';
import { JobsController } from './jobs.controller';
import { JobsService } from './jobs.service';
import { MediaJobsCoreModule } from './media-jobs-core.module';
import { MusicController } from './music.controller';
import { VideoController } from './video.controller';

/** The video, music and job endpoints (`README.md`). Workers may run in other processes. */
@Module({
  imports: [AttemptsModule, IdempotencyModule, LimitsModule, MediaJobsCoreModule, ModelsModule, OutboundModule],
  controllers: [VideoController, MusicController, JobsController, JobReportsController],
  providers: [JobReports, JobReportSignatures, JobSubmissionService, JobsService],
  exports: [JobSubmissionService, MediaJobsCoreModule],
})
export class MediaJobsModule {}
