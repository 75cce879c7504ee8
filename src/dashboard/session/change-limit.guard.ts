import { type CanActivate, type ExecutionContext, Inject, Injectable } from '@nestjs/common';
import { APP_CONFIG, type AppConfig } from '../../core/config/app-config';
import { requestOf } from '../../core/http/request';
import { changeLogOfUser } from '../accounts/attempt-logs';
import { AttemptThrottle } from '../accounts/attempt-throttle';
import { isRead } from './csrf.guard';

/** Limits the changes per user and minute (429). */
@Injectable()
export class ChangeLimitGuard implements CanActivate {
  private readonly changesPerMinute: number;

  constructor(
    private readonly throttle: AttemptThrottle,
    @Inject(APP_CONFIG) { dashboard }: AppConfig,
  ) {
    this.changesPerMinute = dashboard.changesPerMinute;
  }

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const request = requestOf(context);
    if (request.caller === null || isRead(request)) return true;
    return this.throttle.take([changeLogOfUser(request.caller.userId, this.changesPerMinute)]).then(() => true);
  }
}
