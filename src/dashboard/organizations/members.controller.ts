import { Body, Controller, Delete, Get, HttpCode, Param, Patch, Post, Query } from '@nestjs/common';
import { MailRequests } from '../accounts/mail-requests';
import { requireUuid } from '../../core/types/require-uuid';
import { PageQuery } from '../../core/validation/query-fields';
import { strictDto } from '../../core/validation/strict-dto.pipe';
import type { Invitation, InvitationList, Member, MemberList } from '../../contract/dashboard';
import { InvitationService } from './invitation.service';
import { MemberService } from './member.service';
import { toList, toPageRequest } from '../list';
import { Session } from '../../core/http/route.decorators';
import { Caller, type DashboardCaller, requireOrganization } from '../session/caller';
import { InvitationCreationDto, MemberUpdateDto } from './dto/organization.dto';
import { toInvitation, toMember } from './replies';

/** Members and invitations of an organization. */
@Controller('dashboard/api/organizations/:organization_id')
export class MembersController {
  constructor(
    private readonly members: MemberService,
    private readonly invitations: InvitationService,
    private readonly mails: MailRequests,
  ) {}

  @Get('members')
  @Session('viewer')
  async listMembers(@Query(strictDto) query: PageQuery, @Caller() caller: DashboardCaller): Promise<MemberList> {
    return toList(await this.members.page(requireOrganization(caller), toPageRequest(query)), toMember);
  }

  @Patch('members/:user_id')
  @Session('admin')
  async updateMember(
    @Param('user_id') id: string,
    @Body(strictDto) { role }: MemberUpdateDto,
    @Caller() caller: DashboardCaller,
  ): Promise<Member> {
    const userId = requireMemberId(id);
    return toMember(await this.members.setRole(requireOrganization(caller), userId, role, caller.actor));
  }

  @Delete('members/:user_id')
  @HttpCode(204)
  @Session('admin')
  async removeMember(@Param('user_id') id: string, @Caller() caller: DashboardCaller): Promise<void> {
    await this.members.remove(requireOrganization(caller), requireMemberId(id), caller.actor);
  }

  @Get('invitations')
  @Session('admin')
  async listInvitations(
    @Query(strictDto) query: PageQuery,
    @Caller() caller: DashboardCaller,
  ): Promise<InvitationList> {
    return toList(await this.invitations.page(requireOrganization(caller), toPageRequest(query)), toInvitation);
  }

  @Post('invitations')
  @Session('admin')
  async createInvitation(
    @Body(strictDto) { email, role }: InvitationCreationDto,
    @Caller() caller: DashboardCaller,
  ): Promise<Invitation> {
    const organizationId = requireOrganization(caller);
    const invite = () => this.invitations.create(organizationId, { email, role }, caller.actor);
    return toInvitation(await this.mails.inviteWithinLimit(email, caller.userId, invite));
  }

  @Delete('invitations/:invitation_id')
  @HttpCode(204)
  @Session('admin')
  async deleteInvitation(@Param('invitation_id') id: string, @Caller() caller: DashboardCaller): Promise<void> {
    const invitationId = requireUuid(id, 'There is no such invitation.');
    await this.invitations.delete(requireOrganization(caller), invitationId, caller.actor);
  }
}

function requireMemberId(text: string): string {
  return requireUuid(text, 'There is no such member.');
}
