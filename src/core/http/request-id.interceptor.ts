import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import type { Observable } from 'rxjs';
import { replyOf, requestOf } from './request';

/** Names the request in its response. Refusals before this interceptor get the header from the exception filter. */
@Injectable()
export class RequestIdInterceptor implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    replyOf(context).header('x-request-id', requestOf(context).context.requestId);
    return next.handle();
  }
}
