import { Module } from '@nestjs/common';
import { AccountsModule } from '../accounts/accounts.module';
import { SessionCookie } from './session-cookie';
import { ChangeLimitGuard, CsrfGuard, RolesGuard, SessionGuard } from './session.guards';

/** Session cookie and the guards of the dashboard routes. */
@Module({
  imports: [AccountsModule],
  providers: [SessionCookie, CsrfGuard, SessionGuard, RolesGuard, ChangeLimitGuard],
  exports: [SessionCookie, CsrfGuard, SessionGuard, RolesGuard, ChangeLimitGuard],
})
export class DashboardSessionModule {}
