import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { map, type Observable } from 'rxjs';
import { readIdempotencyKey } from './idempotency-key';
import { IDEMPOTENT, type IdempotentOptions } from './idempotent.decorator';
import { ReplayedResponse, unknownOutcome } from './replayed-response';

/**
 * Reads the `Idempotency-Key` of `@Idempotent()` routes into the request context, from where the claim reaches the hold, and
 * marks replayed responses. The look-up runs in the use case, after the permissions of the requested models.
 */
@Injectable()
export class IdempotencyInterceptor implements NestInterceptor {
  constructor(private readonly reflector: Reflector) {}

  intercept(context: ExecutionContext, next: CallHandler<unknown>): Observable<unknown> {
    const options = this.reflector.get<IdempotentOptions | undefined>(IDEMPOTENT, context.getHandler());
    if (options === undefined) return next.handle();
    const http = context.switchToHttp();
    const request = http.getRequest<FastifyRequest>();
    const key = readIdempotencyKey(request.headers['idempotency-key'], options.required);
    if (key === null) return next.handle();
    request.context.idempotencyKey = key;
    const reply = http.getResponse<FastifyReply>();
    return next.handle().pipe(map((answer) => (answer instanceof ReplayedResponse ? replay(answer, reply) : answer)));
  }
}

/** @throws GatewayError for a stored failure of at-most-once work */
function replay(answer: ReplayedResponse, reply: FastifyReply): ReplayedResponse {
  reply.header('idempotent-replayed', 'true');
  if (answer.status >= 500) throw unknownOutcome();
  return answer;
}
