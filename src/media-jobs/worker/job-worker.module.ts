import { Module } from '@nestjs/common';
import { MediaModule } from '../../core/media/media.module';
import { SchedulingModule } from '../../core/scheduling/scheduling.module';
import { ModelsModule } from '../../models/models.module';
import { OutboundModule } from '../../core/outbound/outbound.module';
import { RoutingModule } from '../../models/routing/routing.module';
import { WebhooksModule } from '../../webhooks/webhooks.module';
import { JobWebhookBody } from '../job-webhook-body';
import { MediaJobsCoreModule } from '../media-jobs-core.module';
import { ArtifactIntake } from './artifact-intake';
import { FinalizeStep } from './finalize-step';
import { ImageMemory } from './image-memory';
import { InputStep } from './input-step';
import { JobEndings } from './job-endings';
import { JobGauges } from './job-gauges';
import { JobSweeps } from './job-sweeps';
import { JobTargets } from './job-targets';
import { JobRunner } from './job-runner';
import { DEFAULT_JOB_WORKER_OPTIONS, JOB_WORKER_OPTIONS } from './job-worker-options';
import { MediaJobProcessor } from './media-job.processor';
import { PollStep } from './poll-step';
import { SubmitStep } from './submit-step';

/** The job worker and webhook delivery, for worker processes (`README.md`). */
@Module({
  imports: [
    MediaJobsCoreModule,
    MediaModule,
    ModelsModule,
    OutboundModule,
    RoutingModule,
    SchedulingModule,
    WebhooksModule.forSource(JobWebhookBody, [MediaJobsCoreModule]),
  ],
  providers: [
    ArtifactIntake,
    FinalizeStep,
    ImageMemory,
    InputStep,
    JobEndings,
    JobGauges,
    JobSweeps,
    JobTargets,
    JobRunner,
    MediaJobProcessor,
    PollStep,
    SubmitStep,
    { provide: JOB_WORKER_OPTIONS, useValue: DEFAULT_JOB_WORKER_OPTIONS },
  ],
  exports: [MediaJobProcessor],
})
export class JobWorkerModule {}
