import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { map, type Observable } from 'rxjs';
import { GatewayError } from '../../core/errors/gateway-error';
import { replyOf, requestOf } from '../../core/http/request';
import { ReplayedResponse, unknownOutcome } from './replayed-response';

const HEADER = 'Idempotency-Key';
const VALID_KEY = /^[\x21-\x7e]{1,255}$/;

/**
 * Reads the `Idempotency-Key` of `@Idempotent()` routes into the request context and marks replayed responses. The use
 * case looks the key up, after it has checked the permissions for the requested models, and claims it with the hold.
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

/**
 * The `Idempotency-Key` of a request; `null` when it is missing or empty. Node joins repeated headers with a comma and
 * a space, and the space is not allowed, so a repeated header is always refused.
 * @throws GatewayError `validation_failed`; `idempotency_key_required` when the operation requires one.
 */
export function readIdempotencyKey(header: string | readonly string[] | undefined, required: boolean): string | null {
  if (header === undefined || header === '') {
    if (!required) return null;
    throw new GatewayError('idempotency_key_required', `This operation needs the header ${HEADER}.`, { param: HEADER });
  }
  if (typeof header === 'string' && VALID_KEY.test(header)) return header;
  throw new GatewayError(
    'validation_failed',
    `${HEADER} must be sent once, as 1 to 255 visible ASCII characters without spaces.`,
    { param: HEADER },
  );
}
