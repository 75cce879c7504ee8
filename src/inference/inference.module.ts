import { Module } from '@nestjs/common';
import { SchedulingModule } from '../core/scheduling/scheduling.module';
import { SecretsModule } from '../core/secrets/secrets.module';
import { BillingModule } from '../billing/billing.module';
import { IdempotencyModule } from '../auth/idempotency/idempotency.module';
import { LimitsModule } from '../auth/rate-limits/limits.module';
import { ModelsModule } from '../models/models.module';
import { ProvidersModule } from '../providers/providers.module';
import { RoutingModule } from '../models/routing/routing.module';
import { AttemptRunner } from './attempt-runner';
import { CandidateSelector, RoutePlanner } from './route-planner';
import { DisconnectTracker, IdempotentExecution } from './idempotent-execution';
import { ReasoningVaults } from './reasoning-vaults';
import { RequestAdmission } from './request-reservation';
import { RequestLog, RequestMetrics } from './request-metrics';
import { RequestExplainer, RouteExplainer } from './request-explainer';
import { StreamedInferenceService } from './streamed-inference.service';
import { TokenRatios } from './token-estimate';
import { UnaryInferenceService } from './unary-inference.service';

/**
 * The use case behind every synchronous endpoint: hold the worst-case cost, call the providers, charge the delivered
 * usage, record it. Endpoints add the wire format; `billing`, `models` and `providers` do the steps.
 */
@Module({
  imports: [
    SchedulingModule,
    SecretsModule,
    BillingModule,
    IdempotencyModule,
    LimitsModule,
    ModelsModule,
    ProvidersModule,
    RoutingModule,
  ],
  providers: [
    AttemptRunner,
    CandidateSelector,
    DisconnectTracker,
    IdempotentExecution,
    ReasoningVaults,
    RequestAdmission,
    RequestExplainer,
    RequestLog,
    RequestMetrics,
    RouteExplainer,
    RoutePlanner,
    StreamedInferenceService,
    TokenRatios,
    UnaryInferenceService,
  ],
  exports: [
    CandidateSelector,
    RequestAdmission,
    RequestExplainer,
    RequestMetrics,
    RoutePlanner,
    StreamedInferenceService,
    TokenRatios,
    UnaryInferenceService,
  ],
})
export class InferenceModule {}
