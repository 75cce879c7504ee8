import { Module } from '@nestjs/common';
import { AccountsModule } from './accounts.module';
import { DashboardSessionModule } from '../session/dashboard-session.module';
import { CurrentUserController } from './current-user.controller';
import { RegistrationController } from './registration.controller';
import { SessionController } from './session.controller';

@Module({
  imports: [AccountsModule, DashboardSessionModule],
  controllers: [RegistrationController, SessionController, CurrentUserController],
})
export class DashboardAccountsModule {}
