/**
 * People who sign in: their accounts, passwords and sessions, and the mails that go with them. What they may do is decided
 * by their memberships (`organizations/`) and by the routes of the dashboard.
 */
import { Module, type Provider } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { DataSource } from 'typeorm';
import { CLOCK, type Clock } from '../common/clock';
import { APP_CONFIG, type AppConfig } from '../config/app-config';
import { MailModule } from '../mail/mail.module';
import { Mailer } from '../mail/mailer';
import { InvitationService } from '../organizations/invitation.service';
import { OrganizationService } from '../organizations/organization.service';
import { OrganizationsModule } from '../organizations/organizations.module';
import { REDIS } from '../redis/redis.module';
import { AccountMails } from './account-mails';
import { AccountSweeperService } from './account-sweeper.service';
import { AttemptThrottle } from './attempt-throttle';
import { EmailVerification } from './email-verification';
import { LoginService } from './login.service';
import { MailRequests } from './mail-requests';
import { PasswordHasher } from './password-hasher';
import { PasswordResetService } from './password-reset.service';
import { RegistrationService } from './registration.service';
import { SessionService } from './session.service';
import { UserAdministrationService } from './user-administration.service';
import { UserService } from './user.service';
import { UserTokenService } from './user-token.service';

/** What the services below are made of. */
const PARTS: Provider[] = [
  PasswordHasher,
  { provide: UserTokenService, inject: [CLOCK], useFactory: (clock: Clock) => new UserTokenService(clock) },
  {
    provide: AttemptThrottle,
    inject: [REDIS, CLOCK],
    useFactory: (redis: Redis, clock: Clock) => new AttemptThrottle(redis, clock),
  },
  {
    provide: MailRequests,
    inject: [AttemptThrottle, APP_CONFIG],
    useFactory: (throttle: AttemptThrottle, { dashboard }: AppConfig) =>
      new MailRequests(throttle, dashboard.attemptsPerAddress),
  },
  {
    provide: AccountMails,
    inject: [Mailer, APP_CONFIG],
    useFactory: (mailer: Mailer, config: AppConfig) => new AccountMails(mailer, config),
  },
  {
    provide: EmailVerification,
    inject: [OrganizationService, UserTokenService],
    useFactory: (organizations: OrganizationService, tokens: UserTokenService) =>
      new EmailVerification(organizations, tokens),
  },
  {
    provide: AccountSweeperService,
    inject: [DataSource, CLOCK],
    useFactory: (dataSource: DataSource, clock: Clock) => new AccountSweeperService(dataSource, clock),
  },
];

@Module({
  imports: [MailModule, OrganizationsModule],
  providers: [
    ...PARTS,
    {
      provide: SessionService,
      inject: [DataSource, CLOCK, APP_CONFIG],
      useFactory: (dataSource: DataSource, clock: Clock, { dashboard }: AppConfig) =>
        new SessionService(dataSource, clock, dashboard.sessions),
    },
    {
      provide: LoginService,
      inject: [DataSource, CLOCK, PasswordHasher, SessionService, AttemptThrottle, APP_CONFIG],
      useFactory: (
        dataSource: DataSource,
        clock: Clock,
        hasher: PasswordHasher,
        sessions: SessionService,
        throttle: AttemptThrottle,
        { dashboard }: AppConfig,
      ) => new LoginService(dataSource, clock, hasher, sessions, throttle, dashboard.attemptsPerAddress),
    },
    {
      provide: UserService,
      inject: [DataSource, PasswordHasher, SessionService, LoginService, AccountMails],
      useFactory: (...parts: ConstructorParameters<typeof UserService>) => new UserService(...parts),
    },
    {
      provide: UserAdministrationService,
      inject: [DataSource, CLOCK, PasswordHasher, SessionService],
      useFactory: (...parts: ConstructorParameters<typeof UserAdministrationService>) =>
        new UserAdministrationService(...parts),
    },
    {
      provide: RegistrationService,
      inject: [
        DataSource,
        CLOCK,
        PasswordHasher,
        UserTokenService,
        EmailVerification,
        InvitationService,
        MailRequests,
        AccountMails,
      ],
      useFactory: (...parts: ConstructorParameters<typeof RegistrationService>) => new RegistrationService(...parts),
    },
    {
      provide: PasswordResetService,
      inject: [
        DataSource,
        CLOCK,
        PasswordHasher,
        UserTokenService,
        SessionService,
        EmailVerification,
        AttemptThrottle,
        MailRequests,
        AccountMails,
      ],
      useFactory: (...parts: ConstructorParameters<typeof PasswordResetService>) => new PasswordResetService(...parts),
    },
  ],
  exports: [
    AttemptThrottle,
    MailRequests,
    SessionService,
    LoginService,
    UserService,
    UserAdministrationService,
    RegistrationService,
    PasswordResetService,
  ],
})
export class AccountsModule {}
