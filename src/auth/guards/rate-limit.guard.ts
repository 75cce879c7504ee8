import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { requestOf } from '../../core/http/request';
import { LimiterService } from '../rate-limits/limiter.service';

/**
 * Refuses callers over their limits before the body is read (429): on routes that spend, callers that this process has just
 * refused; on the other routes of a key, by the limit of reads.
 */
@Injectable()
export class RateLimitGuard implements CanActivate {
  constructor(private readonly limiter: LimiterService) {}

  canActivate(execution: ExecutionContext): boolean | Promise<boolean> {
    const { context, rules } = requestOf(execution);
    const { principal } = context;
    if (principal === null) return true;
    if (rules.spends !== true) return this.limiter.admitRead(principal).then(() => true);
    this.limiter.refuseEarly(context, principal);
    return true;
  }
}
