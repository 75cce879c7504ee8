import { type CanActivate, Inject, Module, type NestInterceptor, type Provider, type Type } from '@nestjs/common';
import { APP_FILTER, APP_GUARD, APP_INTERCEPTOR, HttpAdapterHost } from '@nestjs/core';
import type { FastifyAdapter } from '@nestjs/platform-fastify';
import { AuthGuardsModule, KEY_GUARD_ORDER } from '../auth/guards/auth-guards.module';
import { RateLimitGuard } from '../auth/guards/rate-limit.guard';
import { IdempotencyInterceptor } from '../auth/idempotency/idempotency.interceptor';
import { ACCESS_GUARDS, BodyInterceptor } from '../core/http/body.interceptor';
import { CostHeadersInterceptor } from '../core/http/cost-headers.interceptor';
import { GatewayExceptionFilter } from '../core/http/gateway-exception.filter';
import { RequestIdInterceptor } from '../core/http/request-id.interceptor';
import { CLOCK, type Clock } from '../core/time/clock';
import { ChangeLimitGuard } from '../dashboard/session/change-limit.guard';
import { CsrfGuard } from '../dashboard/session/csrf.guard';
import { DashboardSessionModule } from '../dashboard/session/dashboard-session.module';
import { RolesGuard } from '../dashboard/session/roles.guard';
import { SessionGuard } from '../dashboard/session/session.guard';
import { AvailabilityGuard } from './availability.guard';
import { DrainService } from './drain.service';
import { ProbesModule } from './probes.module';
import { InterceptorChain } from './interceptor-chain';
import { addRequestContext } from './request-context.hook';

/** Who may call a route: the key guards where it requires an API key, the others on `@Session()` routes. */
const CALLER_GUARDS = [
  CsrfGuard, //        403 csrf_failed: a change from another site
  SessionGuard, //     401: no session cookie, or not valid
  RolesGuard, //       404, 403: not a member, role too low, not an operator
  ...KEY_GUARD_ORDER, // ApiKeyGuard 401; AllowedIpGuard 403; ModalityGuard 403
] as const;

/** The guards of every request, in order. They run before a byte of the body is read. */
export const GUARDS: readonly Type<CanActivate>[] = [
  AvailabilityGuard, // 503: draining or overloaded; `@Public()` passes
  ...CALLER_GUARDS,
  ChangeLimitGuard, //  429: changes per user
  RateLimitGuard, //    429: callers known to be over their limits, and the limit of reads
];

/** The interceptors of every request, in order. */
export const INTERCEPTORS: readonly Type<NestInterceptor>[] = [
  RequestIdInterceptor, //   X-Request-Id
  BodyInterceptor, //        400, 413, 415, 503; asks the caller guards once more after a slow body
  CostHeadersInterceptor, // sends the answer, with X-LLM-* and rate limit headers
  IdempotencyInterceptor, // 400: Idempotency-Key; marks replays
];

/**
 * The request path: `onRequest` (request-context.hook.ts), the guards, the interceptors, the DTO pipe, the controller. Anything
 * thrown, anywhere, becomes the error envelope in the filter.
 */
@Module({
  imports: [AuthGuardsModule, DashboardSessionModule, ProbesModule],
  providers: [
    AvailabilityGuard,
    { provide: ACCESS_GUARDS, inject: [...CALLER_GUARDS], useFactory: (...guards: CanActivate[]) => guards },
    ...GUARDS.map((useExisting): Provider => ({ provide: APP_GUARD, useExisting })),
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
  constructor({ httpAdapter }: HttpAdapterHost<FastifyAdapter>, drain: DrainService, @Inject(CLOCK) clock: Clock) {
    addRequestContext(httpAdapter.getInstance(), clock, () => drain.draining);
  }
}
