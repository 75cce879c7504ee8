import { Body, Controller, HttpCode, Post } from '@nestjs/common';
import type { InvitationPreview, Organization } from '../../contract/dashboard';
import { InvitationPreviewService } from './invitation-preview.service';
import { InvitationService } from './invitation.service';
import { OrganizationService } from './organization.service';
import { Session } from '../../core/http/route.decorators';
import { Caller, type DashboardCaller } from '../session/caller';
import { Visitor, type DashboardVisitor } from '../accounts/visitor';
import { InvitationAcceptanceDto, InvitationPreviewRequestDto } from './dto/organization.dto';
import { toInvitationPreview, toOrganization } from './replies';
import { strictDto } from '../../core/validation/strict-dto.pipe';

/** Invitations for invited users, who are not members yet. */
@Controller('dashboard/api/invitations')
export class InvitationsController {
  constructor(
    private readonly invitations: InvitationService,
    private readonly organizations: OrganizationService,
    private readonly previews: InvitationPreviewService,
  ) {}

  @Post('preview')
  @HttpCode(200)
  @Session('anonymous')
  async previewInvitation(
    @Body(strictDto) { token }: InvitationPreviewRequestDto,
    @Visitor() { actor }: DashboardVisitor,
  ): Promise<InvitationPreview> {
    return toInvitationPreview(await this.previews.preview(token, actor.address));
  }

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
