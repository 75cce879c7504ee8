import { Module, type NestInterceptor, type Provider, type Type } from '@nestjs/common';
import { APP_FILTER, APP_INTERCEPTOR } from '@nestjs/core';
import { IdempotencyInterceptor } from '../auth/idempotency/idempotency.interceptor';
import { CostHeadersInterceptor } from '../core/http/cost-headers.interceptor';
import { GatewayExceptionFilter } from '../core/http/gateway-exception.filter';
import { RequestIdInterceptor } from '../core/http/request-id.interceptor';

/** The interceptors of every request, in order. */
const INTERCEPTORS: readonly Type<NestInterceptor>[] = [
  /** `X-Request-Id`. */
  RequestIdInterceptor,
  /** Sends the answer, with `X-LLM-*` and rate limit headers. */
  CostHeadersInterceptor,
  /** Reads the `Idempotency-Key`, marks replays. */
  IdempotencyInterceptor,
];

/**
 * The request path, in order: `onRequest` (request-pipeline.ts), interceptors, DTO pipe, controller. Anything thrown
 * becomes the error envelope in the filter.
 */
@Module({
  providers: [
    ...INTERCEPTORS.map((useClass): Provider => ({ provide: APP_INTERCEPTOR, useClass })),
    { provide: APP_FILTER, useClass: GatewayExceptionFilter },
  ],
})
export class RequestPathModule {}
