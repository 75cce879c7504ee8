import { Body, Controller, HttpCode, Post } from '@nestjs/common';
import type { Organization } from '../../contract/dashboard';
import { InvitationService } from './invitation.service';
import { OrganizationService } from './organization.service';
import { Session } from '../../core/http/route.decorators';
import { Caller, type DashboardCaller } from '../session/caller';
import { InvitationAcceptanceDto } from './dto/organization.dto';
import { toOrganization } from './replies';
import { strictDto } from '../../core/validation/strict-dto.pipe';

/** Acceptance of invitations by invited users, who are not members yet. */
@Controller('dashboard/api/invitations')
export class InvitationsController {
  constructor(
    private readonly invitations: InvitationService,
    private readonly organizations: OrganizationService,
  ) {}

  @Post('accept')
  @HttpCode(200)
  @Session('user')
  async acceptInvitation(
    @Body(strictDto) { token }: InvitationAcceptanceDto,
    @Caller() { userId, email, actor }: DashboardCaller,
  ): Promise<Organization> {
    const { organizationId, role } = await this.invitations.acceptOwn({ token, userId, email }, actor);
    return toOrganization(await this.organizations.require(organizationId), role);
  }
}
