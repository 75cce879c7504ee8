import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { map, type Observable } from 'rxjs';
import { replyOf, requestOf } from '../../core/http/request';
import { readIdempotencyKey } from './idempotency-key';
import { ReplayedResponse, unknownOutcome } from './replayed-response';

/**
 * Reads the `Idempotency-Key` of `@Idempotent()` routes into the request context, from where the claim reaches the hold, and
 * marks replayed responses. The look-up runs in the use case, after the permissions of the requested models.
 */
@Injectable()
export class IdempotencyInterceptor implements NestInterceptor {
  intercept(execution: ExecutionContext, next: CallHandler<unknown>): Observable<unknown> {
    const { rules, headers, context } = requestOf(execution);
    if (rules.idempotencyKey === undefined) return next.handle();
    const key = readIdempotencyKey(headers['idempotency-key'], rules.idempotencyKey === 'required');
    if (key === null) return next.handle();
    context.idempotencyKey = key;
    const reply = replyOf(execution);
    return next.handle().pipe(map((answer) => (answer instanceof ReplayedResponse ? replay(answer, reply) : answer)));
  }
}

/** @throws GatewayError for a stored failure of at-most-once work */
function replay(answer: ReplayedResponse, reply: FastifyReply): ReplayedResponse {
  reply.header('idempotent-replayed', 'true');
  if (answer.status >= 500) throw unknownOutcome();
  return answer;
}
