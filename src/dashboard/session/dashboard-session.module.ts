import { Module } from '@nestjs/common';
import { APP_CONFIG, type AppConfig } from '../../core/config/app-config';
import { AccountsModule } from '../accounts/accounts.module';
import { SessionCookie } from './session-cookie';
import { ChangeLimitGuard, CsrfGuard, RolesGuard, SessionGuard } from './session.guards';

/** Session cookie and the guards of the dashboard routes. */
@Module({
  imports: [AccountsModule],
  providers: [
    {
      provide: SessionCookie,
      inject: [APP_CONFIG],
      useFactory: ({ dashboard }: AppConfig) => new SessionCookie(dashboard.cookieSecure),
    },
    CsrfGuard,
    SessionGuard,
    RolesGuard,
    ChangeLimitGuard,
  ],
  exports: [SessionCookie, CsrfGuard, SessionGuard, RolesGuard, ChangeLimitGuard],
})
export class DashboardSessionModule {}
