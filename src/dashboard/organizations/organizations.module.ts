import { Module } from '@nestjs/common';
import type { RedisClient } from '../../core/redis/redis-client';
import { DataSource } from 'typeorm';
import { resolveApiKeyPepper } from '../../auth/api-keys/api-key-pepper';
import { CLOCK, type Clock } from '../../core/time/clock';
import { APP_CONFIG, type AppConfig } from '../../core/config/app-config';
import { dashboardLink } from '../../core/mail/dashboard-link';
import { MailModule } from '../../core/mail/mail.module';
import { Mailer } from '../../core/mail/mailer';
import { REDIS } from '../../core/redis/redis.module';
import { ApiKeyReader } from '../../auth/api-keys/api-key.reader';
import { ApiKeyService } from '../../auth/api-keys/api-key.service';
import { PlaygroundKeyService } from '../../auth/api-keys/playground-key.service';
import { AuditLogReader } from './audit-log.reader';
import { InvitationService } from './invitation.service';
import { MemberService } from './member.service';
import { OrganizationService } from './organization.service';

/** Administration of organizations, members and keys. The services expect an authorized caller. */
@Module({
  imports: [MailModule],
  providers: [
    {
      provide: OrganizationService,
      inject: [DataSource, REDIS, CLOCK],
      useFactory: (dataSource: DataSource, redis: RedisClient, clock: Clock) =>
        new OrganizationService(dataSource, redis, clock),
    },
    {
      provide: ApiKeyService,
      inject: [DataSource, REDIS, CLOCK, APP_CONFIG],
      useFactory: (dataSource: DataSource, redis: RedisClient, clock: Clock, config: AppConfig) =>
        new ApiKeyService(dataSource, redis, clock, resolveApiKeyPepper(config)),
    },
    {
      provide: PlaygroundKeyService,
      inject: [DataSource, CLOCK, APP_CONFIG],
      useFactory: (dataSource: DataSource, clock: Clock, config: AppConfig) =>
        new PlaygroundKeyService(
          dataSource,
          clock,
          resolveApiKeyPepper(config),
          BigInt(config.dashboard.playgroundDailyBudgetMicro),
          config.dashboard.sessions.idleMs,
        ),
    },
    {
      provide: ApiKeyReader,
      inject: [DataSource, CLOCK],
      useFactory: (dataSource: DataSource, clock: Clock) => new ApiKeyReader(dataSource, clock),
    },
    {
      provide: MemberService,
      inject: [DataSource],
      useFactory: (dataSource: DataSource) => new MemberService(dataSource),
    },
    {
      provide: InvitationService,
      inject: [DataSource, Mailer, CLOCK, APP_CONFIG],
      useFactory: (dataSource: DataSource, mailer: Mailer, clock: Clock, config: AppConfig) =>
        new InvitationService(dataSource, mailer, clock, (token) => dashboardLink(config, 'accept-invitation', token)),
    },
    {
      provide: AuditLogReader,
      inject: [DataSource],
      useFactory: (dataSource: DataSource) => new AuditLogReader(dataSource),
    },
  ],
  exports: [
    OrganizationService,
    ApiKeyService,
    PlaygroundKeyService,
    ApiKeyReader,
    MemberService,
    InvitationService,
    AuditLogReader,
  ],
})
export class OrganizationsModule {}
