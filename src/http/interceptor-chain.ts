import type { CallHandler, ExecutionContext, NestInterceptor } from '@nestjs/common';
import { Observable } from 'rxjs';

type Handled = ReturnType<NestInterceptor['intercept']>;

/**
 * Runs interceptors in order, registered as one. Nest wraps each registered interceptor in an async scope, two promises and
 * two observables, which costs more CPU per request than all guards together.
 */
export class InterceptorChain implements NestInterceptor {
  constructor(readonly interceptors: readonly NestInterceptor[]) {}

  intercept(context: ExecutionContext, next: CallHandler): Handled {
    return this.run(0, context, next);
  }

  private run(position: number, context: ExecutionContext, last: CallHandler): Handled {
    const interceptor = this.interceptors[position];
    if (interceptor === undefined) return last.handle();
    return interceptor.intercept(context, { handle: () => flatten(this.run(position + 1, context, last)) });
  }
}

function flatten(handled: Handled): Observable<unknown> {
  if (!(handled instanceof Promise)) return handled;
  return new Observable((subscriber) => {
    handled.then(
      (observable) => void observable.subscribe(subscriber),
      (error: unknown) => subscriber.error(error),
    );
  });
}
