import { Module } from '@nestjs/common';
import { BillingModule } from '../billing/billing.module';
import { InferenceModule } from '../inference/inference.module';
import { DrainService } from './availability';
import { HealthController } from './health.controller';
import { ReadinessService } from './readiness.service';

/** `/health`, `/ready` and draining: the HTTP surface of a process without an API. */
@Module({
  imports: [BillingModule, InferenceModule],
  controllers: [HealthController],
  providers: [DrainService, ReadinessService],
  exports: [DrainService, ReadinessService],
})
export class ProbesModule {}
