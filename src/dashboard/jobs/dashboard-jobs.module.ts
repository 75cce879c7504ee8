import { Module } from '@nestjs/common';
import { MediaJobsCoreModule } from '../../media-jobs/media-jobs-core.module';
import { WebhookLogModule } from '../../webhooks/webhook-log.module';
import { OrganizationJobsController } from './organization-jobs.controller';

/** Jobs of an organization. */
@Module({ imports: [MediaJobsCoreModule, WebhookLogModule], controllers: [OrganizationJobsController] })
export class DashboardJobsModule {}
