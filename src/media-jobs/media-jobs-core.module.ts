import { BullModule } from '@nestjs/bullmq';
import { SchedulingModule } from '../core/scheduling/scheduling.module';
import { Module } from '@nestjs/common';
import { InferenceModule } from '../inference/inference.module';
import { MediaModule } from '../core/media/media.module';
import { OutboundModule } from '../core/outbound/outbound.module';
import { ProvidersModule } from '../providers/providers.module';
import { QueueModule } from '../core/queue/queue.module';
import { StorageModule } from '../core/storage/storage.module';
import { JobExpiry } from './job-expiry.service';
import { JobInputs } from './job-inputs';
import { JobListingRepository } from './job-listing.repository';
import { JobMoneyRepository } from './job-money.repository';
import { JobRemoval } from './job-removal';
import { JobReplies } from './job-replies';
import { JobReportAddress } from './job-report-address';
import { JobRoutes } from './job-routes';
import { JobTermination } from './job-termination';
import { JobWakeUps, MEDIA_JOB_QUEUE } from './job-wake-ups';
import { JobWebhookBody } from './job-webhook-body';
import { JobWorkRepository } from './job-work.repository';
import { MediaJobRepository } from './media-job.repository';
import { OrganizationJobs } from './organization-jobs.service';

const PARTS = [
  JobExpiry,
  JobInputs,
  JobListingRepository,
  JobMoneyRepository,
  JobRemoval,
  JobReplies,
  JobReportAddress,
  JobRoutes,
  JobTermination,
  JobWakeUps,
  JobWebhookBody,
  JobWorkRepository,
  MediaJobRepository,
  OrganizationJobs,
];

/** Job services shared by the API and the workers. Both expire jobs. */
@Module({
  imports: [
    SchedulingModule,
    BullModule.registerQueue({ name: MEDIA_JOB_QUEUE }),
    InferenceModule,
    MediaModule,
    OutboundModule,
    ProvidersModule,
    QueueModule,
    StorageModule,
  ],
  providers: PARTS,
  exports: [...PARTS, InferenceModule, ProvidersModule, QueueModule, StorageModule],
})
export class MediaJobsCoreModule {}
