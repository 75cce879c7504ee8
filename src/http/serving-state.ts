import { Injectable } from '@nestjs/common';
import { DrainService, OverloadDetector } from './availability';
import { ReadinessService } from './readiness.service';

/** A shorter overload ends before a load balancer has reacted. */
const MAX_OVERLOAD_MS = 10_000;

/**
 * Whether this process should get requests. Unlike readiness, this ignores servers that all replicas share: when such a
 * server is unavailable, a response from any replica is better than none.
 */
@Injectable()
export class ServingState {
  constructor(
    private readonly drain: DrainService,
    private readonly load: OverloadDetector,
    private readonly readiness: ReadinessService,
  ) {}

  async isServing(): Promise<boolean> {
    if (this.drain.stopping || this.load.overloadedForMs >= MAX_OVERLOAD_MS) return false;
    return this.readiness.knowsSchema();
  }
}
