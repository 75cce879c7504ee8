import {
  type CanActivate,
  type ExecutionContext,
  Inject,
  Injectable,
  type OnModuleDestroy,
  type OnModuleInit,
} from '@nestjs/common';
import { APP_CONFIG, type AppConfig } from '../core/config/app-config';
import { GatewayError } from '../core/errors/gateway-error';
import { OverloadDetector } from '../core/http/overload-detector';
import { requestOf } from '../core/http/request';
import { CLOCK, type Clock } from '../core/time/clock';
import { DrainService } from './drain.service';

/** Created once: capturing a stack per refusal would double its cost. */
const OVERLOADED = new GatewayError('service_unavailable', 'The server is overloaded. Retry shortly.', {
  retryAfterSeconds: 1,
});

/** Refuses requests while the process shuts down or is overloaded (503). Public routes, such as probes, are served. */
@Injectable()
export class AvailabilityGuard implements CanActivate, OnModuleInit, OnModuleDestroy {
  private readonly load: OverloadDetector;

  constructor(
    private readonly drain: DrainService,
    @Inject(APP_CONFIG) { http }: AppConfig,
    @Inject(CLOCK) clock: Clock,
  ) {
    this.load = new OverloadDetector(
      http.overloadConcurrency,
      () => drain.inFlight,
      () => clock.monotonic(),
    );
  }

  onModuleInit(): void {
    this.load.start();
  }

  onModuleDestroy(): void {
    this.load.stop();
  }

  canActivate(context: ExecutionContext): boolean {
    if (requestOf(context).rules.public === true) return true;
    if (this.drain.draining) {
      throw new GatewayError('service_unavailable', 'The server is shutting down. Retry shortly.', {
        retryAfterSeconds: 1,
      });
    }
    if (this.load.overloaded) throw OVERLOADED;
    return true;
  }
}
