import { Module } from '@nestjs/common';
import { AccountsModule } from '../../accounts/accounts.module';
import { SessionService } from '../../accounts/session.service';
import { APP_CONFIG, type AppConfig } from '../../config/app-config';
import { SessionDoor } from '../../http/session-door';
import { DashboardDoor } from './dashboard-door';
import { hostOf } from './same-site';
import { SessionCookie } from './session-cookie';

/** Who may pass to the routes of the dashboard. */
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
      inject: [SessionService, SessionCookie, APP_CONFIG],
      useFactory: (sessions: SessionService, cookie: SessionCookie, { http }: AppConfig) =>
        new DashboardDoor(sessions, cookie, http.publicBaseUrl === null ? null : hostOf(http.publicBaseUrl)),
    },
  ],
  exports: [SessionCookie, SessionDoor],
})
export class DashboardSessionModule {}
