import { Module } from '@nestjs/common';
import { BillingModule } from '../billing/billing.module';
import { InferenceModule } from '../inference/inference.module';
import { DrainService } from './drain.service';
import { HealthController } from './health.controller';
import { OpenapiController } from './openapi.controller';
import { ReadinessService } from './readiness.service';

/** The edge: what every request passes (`request-pipeline.ts`) and the routes that belong to nobody else. */
@Module({
  imports: [BillingModule, InferenceModule],
  controllers: [HealthController, OpenapiController],
  providers: [DrainService, ReadinessService],
  exports: [DrainService, ReadinessService],
})
export class HttpModule {}
