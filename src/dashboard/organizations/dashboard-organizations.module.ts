import { Module } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { APP_CONFIG, type AppConfig } from '../../core/config/app-config';
import { CLOCK, type Clock } from '../../core/time/clock';
import { AccountsModule } from '../accounts/accounts.module';
import { AttemptThrottle } from '../../auth/rate-limits/attempt-throttle';
import { OrganizationsModule } from './organizations.module';
import { InvitationPreviewService } from './invitation-preview.service';
import { InvitationsController } from './invitations.controller';
import { MembersController } from './members.controller';
import { OrganizationsController } from './organizations.controller';

@Module({
  imports: [AccountsModule, OrganizationsModule],
  controllers: [OrganizationsController, MembersController, InvitationsController],
  providers: [
    {
      provide: InvitationPreviewService,
      inject: [DataSource, AttemptThrottle, CLOCK, APP_CONFIG],
      useFactory: (dataSource: DataSource, throttle: AttemptThrottle, clock: Clock, { dashboard }: AppConfig) =>
        new InvitationPreviewService(dataSource, throttle, clock, dashboard.attemptsPerAddress),
    },
  ],
})
export class DashboardOrganizationsModule {}
