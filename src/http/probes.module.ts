import { Module } from '@nestjs/common';
import { BillingModule } from '../billing/billing.module';
import { InferenceModule } from '../inference/inference.module';
import { ModelsModule } from '../models/models.module';
import { RoutingModule } from '../models/routing/routing.module';
import { DrainService, OverloadDetector } from './availability';
import { HealthController } from './health.controller';
import { ManagementServer } from './management-server';
import { ProcessState } from './process-state';
import { ServingState } from './serving-state';
import { ReadinessService } from './readiness.service';

/** `/health`, `/ready` and draining: the HTTP surface of a process without an API. */
@Module({
  imports: [BillingModule, InferenceModule, ModelsModule, RoutingModule],
  controllers: [HealthController],
  providers: [DrainService, ManagementServer, ProcessState, ReadinessService, OverloadDetector, ServingState],
  exports: [DrainService, OverloadDetector, ReadinessService],
})
export class ProbesModule {}
