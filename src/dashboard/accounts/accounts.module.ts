/**
 * User accounts, passwords and sessions, and the mails about them. Authorization is decided by memberships
 * (`organizations/`) and by the routes of the dashboard.
 */
import { Metrics } from '../../core/observability/metrics/catalogue';
import { SchedulingModule } from '../../core/scheduling/scheduling.module';
import { Module, type Provider } from '@nestjs/common';
import type { RedisClient } from '../../core/redis/redis-client';
import { DataSource } from 'typeorm';
import { CLOCK, type Clock } from '../../core/time/clock';
import { APP_CONFIG, type AppConfig } from '../../core/config/app-config';
import { MailModule } from '../../core/mail/mail.module';
import { Mailer } from '../../core/mail/mailer';
import { InvitationService } from '../organizations/invitation.service';
import { OrganizationService } from '../organizations/organization.service';
import { OrganizationsModule } from '../organizations/organizations.module';
import { REDIS } from '../../core/redis/redis.module';
import { AccountMails } from './account-mails';
import { AccountSweeperService } from './account-sweeper.service';
import { AttemptThrottle } from '../../auth/rate-limits/attempt-throttle';
import { AttemptsModule } from '../../auth/rate-limits/attempts.module';
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

/** Dependencies of the services below. */
const PARTS: Provider[] = [
  PasswordHasher,
  { provide: FollowUpWork, useFactory: () => new FollowUpWork() },
  {
    provide: SignInHistoryStore,
    inject: [REDIS, CLOCK],
    useFactory: (redis: RedisClient, clock: Clock) => new SignInHistoryStore(redis, clock),
  },
  { provide: UserTokenService, inject: [CLOCK], useFactory: (clock: Clock) => new UserTokenService(clock) },
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
  imports: [AttemptsModule, SchedulingModule, MailModule, OrganizationsModule],
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
      inject: [
        DataSource,
        CLOCK,
        PasswordHasher,
        SessionService,
        AttemptThrottle,
        SignInHistoryStore,
        APP_CONFIG,
        Metrics,
      ],
      useFactory: (
        dataSource: DataSource,
        clock: Clock,
        hasher: PasswordHasher,
        sessions: SessionService,
        throttle: AttemptThrottle,
        history: SignInHistoryStore,
        { dashboard }: AppConfig,
        metrics: Metrics,
      ) =>
        new LoginService(dataSource, clock, hasher, sessions, throttle, history, dashboard.attemptsPerAddress, metrics),
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
        FollowUpWork,
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
        SignInHistoryStore,
        MailRequests,
        AccountMails,
        FollowUpWork,
      ],
      useFactory: (...parts: ConstructorParameters<typeof PasswordResetService>) => new PasswordResetService(...parts),
    },
  ],
  exports: [
    AttemptsModule,
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
