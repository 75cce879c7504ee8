import type { CallHandler, CanActivate, ExecutionContext, NestInterceptor } from '@nestjs/common';
import { Observable } from 'rxjs';
import { requestOf } from '../core/http/request';

/** A guard that answers at once where it can. */
export interface RequestGuard extends CanActivate {
  canActivate(context: ExecutionContext): boolean | Promise<boolean>;
}

/** One value for each kind of route: of API keys, with `@Session()`, and with `@Public()`. */
export interface ByRoute<Value> {
  readonly key: Value;
  readonly session: Value;
  readonly public: Value;
}

/** Runs the guards of the route in order, registered as one. Closed by default: other routes require an API key. */
export class RouteGuards implements RequestGuard {
  constructor(readonly guards: ByRoute<readonly RequestGuard[]>) {}

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const { rules } = requestOf(context);
    if (rules.session !== undefined) return judge(this.guards.session, 0, context);
    return judge(rules.public === true ? this.guards.public : this.guards.key, 0, context);
  }
}

function judge(
  guards: readonly RequestGuard[],
  position: number,
  context: ExecutionContext,
): boolean | Promise<boolean> {
  const guard = guards[position];
  if (guard === undefined) return true;
  const verdict = guard.canActivate(context);
  if (verdict instanceof Promise) return verdict.then((passes) => passes && judge(guards, position + 1, context));
  return verdict && judge(guards, position + 1, context);
}

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
