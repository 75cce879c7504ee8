import { Module } from '@nestjs/common';
import { AccountsModule } from '../accounts/accounts.module';
import { AttemptThrottle } from '../accounts/attempt-throttle';
import { SessionService } from '../accounts/session.service';
import { APP_CONFIG, type AppConfig } from '../../core/config/app-config';
import { SessionDoor } from '../../http/session-door';
import { DashboardSessionGuard } from './dashboard-door';
import { hostOf } from './same-site';
import { SessionCookie } from './session-cookie';

/** Session cookie and authorization of the dashboard routes. */
@Module({
  imports: [AccountsModule],
  providers: [
    {
      provide: SessionCookie,
      inject: [APP_CONFIG],
      useFactory: ({ dashboard }: AppConfig) => new SessionCookie(dashboard.cookieSecure),
    },
    {
      provide: SessionDoor,
      inject: [SessionService, SessionCookie, AttemptThrottle, APP_CONFIG],
      useFactory: (
        sessions: SessionService,
        cookie: SessionCookie,
        throttle: AttemptThrottle,
        { http, dashboard }: AppConfig,
      ) => {
        const ownHost = http.publicBaseUrl === null ? null : hostOf(http.publicBaseUrl);
        return new DashboardSessionGuard(sessions, cookie, ownHost, throttle, dashboard.changesPerMinute);
      },
    },
  ],
  exports: [SessionCookie, SessionDoor],
})
export class DashboardSessionModule {}
