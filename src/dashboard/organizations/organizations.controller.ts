import { Body, Controller, Get, HttpCode, Patch, Post, Query } from '@nestjs/common';
import { GatewayError } from '../../core/errors/gateway-error';
import type { Role } from '../../core/types/role';
import { PageQuery } from '../../core/validation/query-fields';
import { strictDto } from '../../core/validation/strict-dto.pipe';
import type { AuditEntryList, Organization, OrganizationList } from '../../contract/dashboard';
import { AuditLogReader } from './audit-log.reader';
import { MemberService } from './member.service';
import { OrganizationService } from './organization.service';
import { toList, toPageRequest } from '../list';
import { Session } from '../../core/http/route.decorators';
import { Caller, type DashboardCaller, requireOrganization } from '../session/caller';
import { AuditLogQuery, OrganizationProfileDto } from './dto/organization.dto';
import { toAuditEntry, toOrganization } from './replies';

/** Organizations as their members see them. */
@Controller('dashboard/api/organizations')
export class OrganizationsController {
  constructor(
    private readonly organizations: OrganizationService,
    private readonly members: MemberService,
    private readonly auditLog: AuditLogReader,
  ) {}

  @Get()
  @Session('user')
  async listOrganizations(
    @Query(strictDto) query: PageQuery,
    @Caller() { userId }: DashboardCaller,
  ): Promise<OrganizationList> {
    const page = await this.organizations.pageOf(userId, toPageRequest(query));
    return toList(page, (membership) => toOrganization(membership, membership.role));
  }

  @Post()
  @Session('user')
  async createOrganization(
    @Body(strictDto) { name }: OrganizationProfileDto,
    @Caller() { userId, actor }: DashboardCaller,
  ): Promise<Organization> {
    return toOrganization(await this.organizations.createOwned(name, userId, actor), 'owner');
  }

  @Get(':organization_id')
  @Session('viewer')
  async getOrganization(@Caller() caller: DashboardCaller): Promise<Organization> {
    return toOrganization(await this.organizations.require(requireOrganization(caller)), requireRole(caller));
  }

  @Patch(':organization_id')
  @Session('admin')
  async updateOrganization(
    @Body(strictDto) { name }: OrganizationProfileDto,
    @Caller() caller: DashboardCaller,
  ): Promise<Organization> {
    const organization = await this.organizations.rename(requireOrganization(caller), name, caller.actor);
    return toOrganization(organization, requireRole(caller));
  }

  @Post(':organization_id/leave')
  @HttpCode(204)
  @Session('viewer')
  leaveOrganization(@Caller() caller: DashboardCaller): Promise<void> {
    return this.members.leave(requireOrganization(caller), caller.userId, caller.actor);
  }

  @Get(':organization_id/audit-log')
  @Session('admin')
  async listAuditEntries(
    @Query(strictDto) query: AuditLogQuery,
    @Caller() caller: DashboardCaller,
  ): Promise<AuditEntryList> {
    const { action, actor: actorUserId, from, to } = query;
    const filter = { action, actorUserId, from, to };
    return toList(await this.auditLog.page(requireOrganization(caller), filter, toPageRequest(query)), toAuditEntry);
  }
}

/** The caller's role in the organization of the path. */
function requireRole({ role }: DashboardCaller): Role {
  if (role === null) throw new GatewayError('internal_error', 'The route names no organization.');
  return role;
}
