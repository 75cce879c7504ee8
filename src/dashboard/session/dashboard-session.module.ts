import { Module } from '@nestjs/common';
import { APP_CONFIG, type AppConfig } from '../../core/config/app-config';
import { AccountsModule } from '../accounts/accounts.module';
import { ChangeLimitGuard } from './change-limit.guard';
import { CsrfGuard } from './csrf.guard';
import { RolesGuard } from './roles.guard';
import { SessionCookie } from './session-cookie';
import { SessionGuard } from './session.guard';

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
