/**
 * User accounts, passwords and sessions, and the mails about them. Authorization is decided by memberships
 * (`organizations/`) and by the routes of the dashboard.
 */
import { Module } from '@nestjs/common';
import { AttemptsModule } from '../../auth/rate-limits/attempts.module';
import { MailModule } from '../../core/mail/mail.module';
import { SchedulingModule } from '../../core/scheduling/scheduling.module';
import { OrganizationsModule } from '../organizations/organizations.module';
import { AccountMails } from './account-mails';
import { AccountSweeperService } from './account-sweeper.service';
import { EmailVerification } from './email-verification';
import { FollowUpWork } from './follow-up-work';
import { LoginService } from './login.service';
import { MailRequests } from './mail-requests';
import { PasswordHasher } from './password-hasher';
import { PasswordResetService } from './password-reset.service';
import { RegistrationService } from './registration.service';
import { SessionService } from './session.service';
import { SignInHistoryStore } from './sign-in-history';
import { UserAdministrationService } from './user-administration.service';
import { UserService } from './user.service';
import { UserTokenService } from './user-token.service';

const SERVICES = [
  MailRequests,
  SessionService,
  LoginService,
  UserService,
  UserAdministrationService,
  RegistrationService,
  PasswordResetService,
];

@Module({
  imports: [AttemptsModule, SchedulingModule, MailModule, OrganizationsModule],
  providers: [
    AccountMails,
    AccountSweeperService,
    EmailVerification,
    FollowUpWork,
    PasswordHasher,
    SignInHistoryStore,
    UserTokenService,
    ...SERVICES,
  ],
  exports: [AttemptsModule, ...SERVICES],
})
export class AccountsModule {}
