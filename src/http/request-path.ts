import {
  type FactoryProvider,
  Inject,
  type InjectionToken,
  Module,
  type NestInterceptor,
  type Type,
} from '@nestjs/common';
import { APP_FILTER, APP_GUARD, APP_INTERCEPTOR, HttpAdapterHost } from '@nestjs/core';
import type { FastifyAdapter } from '@nestjs/platform-fastify';
import { AuthGuardsModule, KEY_GUARD_ORDER } from '../auth/guards/auth-guards.module';
import { RateLimitGuard } from '../auth/guards/key.guards';
import { IdempotencyInterceptor } from '../auth/idempotency/idempotency.interceptor';
import { BodyInterceptor, CALLER_GUARD } from '../core/http/body.interceptor';
import { CostHeadersInterceptor, RequestIdInterceptor } from '../core/http/cost-headers.interceptor';
import { GatewayExceptionFilter } from '../core/http/gateway-exception.filter';
import { Metrics } from '../core/observability/metrics/catalogue';
import { Tracing } from '../core/observability/traces/tracing';
import { CLOCK, type Clock } from '../core/time/clock';
import { DashboardSessionModule } from '../dashboard/session/dashboard-session.module';
import { ChangeLimitGuard, CsrfGuard, RolesGuard, SessionGuard } from '../dashboard/session/session.guards';
import { AvailabilityCheck, DrainService } from './availability';
import { ProbesModule } from './probes.module';
import { InferenceModule } from '../inference/inference.module';
import { RequestMetrics } from '../inference/request-metrics';
import { addReplyCompression } from './reply-compression';
import { addRequestCounts } from './request-counts';
import { addRequestContext, type ByRoute, InterceptorChain, type RequestGuard, RouteGuards } from './request-stages';

type GuardTypes = ByRoute<readonly Type<RequestGuard>[]>;

/** Guards that check who may call a route. They run again after a slow body. */
const CALLER_GUARDS: GuardTypes = {
  key: [
    ...KEY_GUARD_ORDER, // ApiKeyGuard 401; AllowedIpGuard 403; ModalityGuard 403
  ],
  session: [
    CsrfGuard, //    403 csrf_failed: a change from another site
    SessionGuard, // 401: no session cookie, or not valid
    RolesGuard, //   404, 403: not a member, role too low, not an operator
  ],
  public: [],
};

/** The guards of every request, in order. They run before a byte of the body is read. */
export const GUARDS: GuardTypes = {
  key: [
    ...CALLER_GUARDS.key,
    RateLimitGuard, //    429: callers known to be over their limits, and the limit of reads
  ],
  session: [
    ...CALLER_GUARDS.session,
    ChangeLimitGuard, //  429: changes per user
  ],
  public: [],
};

/** The interceptors of every request, in order. */
export const INTERCEPTORS: readonly Type<NestInterceptor>[] = [
  RequestIdInterceptor, //   X-Request-Id
  BodyInterceptor, //        415, 413, 503, 400; runs the caller guards again after a slow body
  CostHeadersInterceptor, // sends the answer, with X-LLM-* and rate limit headers
  IdempotencyInterceptor, // 400: Idempotency-Key; marks replays
];

/**
 * The request path: `onRequest` (request-stages.ts; 503: draining or overloaded), the guards, the interceptors, the DTO
 * pipe, the controller. Anything thrown, anywhere, becomes the error envelope in the filter. Long JSON replies of the
 * dashboard are compressed (reply-compression.ts).
 */
@Module({
  imports: [AuthGuardsModule, DashboardSessionModule, InferenceModule, ProbesModule],
  providers: [
    AvailabilityCheck,
    provideGuards(CALLER_GUARD, CALLER_GUARDS),
    provideGuards(APP_GUARD, GUARDS),
    ...INTERCEPTORS,
    {
      provide: APP_INTERCEPTOR,
      inject: [...INTERCEPTORS],
      useFactory: (...interceptors: NestInterceptor[]) => new InterceptorChain(interceptors),
    },
    { provide: APP_FILTER, useClass: GatewayExceptionFilter },
  ],
})
export class RequestPathModule {
  constructor(
    { httpAdapter }: HttpAdapterHost<FastifyAdapter>,
    drain: DrainService,
    availability: AvailabilityCheck,
    metrics: Metrics,
    requests: RequestMetrics,
    tracing: Tracing,
    @Inject(CLOCK) clock: Clock,
  ) {
    addRequestContext(httpAdapter.getInstance(), clock, drain, availability, tracing);
    addRequestCounts(httpAdapter.getInstance(), metrics, requests);
    addReplyCompression(httpAdapter.getInstance());
  }
}

function provideGuards(provide: InjectionToken, types: GuardTypes): FactoryProvider<RouteGuards> {
  return {
    provide,
    inject: [...types.key, ...types.session, ...types.public],
    useFactory: (...guards: RequestGuard[]) => {
      const take = ({ length }: readonly unknown[]): RequestGuard[] => guards.splice(0, length);
      return new RouteGuards({ key: take(types.key), session: take(types.session), public: take(types.public) });
    },
  };
}
