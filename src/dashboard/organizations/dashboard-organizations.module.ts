import { Module } from '@nestjs/common';
import { AccountsModule } from '../accounts/accounts.module';
import { OrganizationsModule } from './organizations.module';
import { InvitationPreviewService } from './invitation-preview.service';
import { InvitationsController } from './invitations.controller';
import { MembersController } from './members.controller';
import { OrganizationsController } from './organizations.controller';

@Module({
  imports: [AccountsModule, OrganizationsModule],
  controllers: [OrganizationsController, MembersController, InvitationsController],
  providers: [InvitationPreviewService],
})
export class DashboardOrganizationsModule {}
