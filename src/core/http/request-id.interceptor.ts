import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Observable } from 'rxjs';

/** Names the request in its response. Refusals before this interceptor get the header from the exception filter. */
@Injectable()
export class RequestIdInterceptor implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const http = context.switchToHttp();
    const { requestId } = http.getRequest<FastifyRequest>().context;
    http.getResponse<FastifyReply>().header('x-request-id', requestId);
    return next.handle();
  }
}
