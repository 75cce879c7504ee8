import { Module } from '@nestjs/common';
import { BillingModule } from '../billing/billing.module';
import { ModelsModule } from '../models/models.module';
import { ProvidersModule } from '../providers/providers.module';
import { AttemptRunner } from './attempt-runner';
import { CandidateSelector } from './candidate-selector';
import { MeteringService } from './metering.service';
import { RunInference } from './run-inference';
import { StreamInference } from './stream-inference';

/**
 * The one use-case behind every endpoint that answers at once: hold the price, ask the providers, charge what was
 * delivered, record it. Endpoints (rank 4) bring the wire format; `billing`, `models` and `providers` do the parts.
 */
@Module({
  imports: [BillingModule, ModelsModule, ProvidersModule],
  providers: [AttemptRunner, CandidateSelector, MeteringService, RunInference, StreamInference],
  exports: [RunInference, StreamInference],
})
export class InferenceModule {}
