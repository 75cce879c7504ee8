import { Body, Controller, Get, HttpCode, Param, Patch, Post, Query } from '@nestjs/common';
import { BalanceAdjustmentService } from '../../billing/ledger/ledger.service';
import { microToJson } from '../../core/types/micro';
import { DEFAULT_PAGE_LIMIT } from '../../core/validation/query-fields';
import { strictDto } from '../../core/validation/strict-dto.pipe';
import type { components } from '../../contract/dashboard';
import { OperatorOrganizationService } from '../organizations/operator-organization.service';
import { OrganizationService } from '../organizations/organization.service';
import { Session } from '../../core/http/route.decorators';
import { Caller, type DashboardCaller } from '../session/caller';
import {
  BalanceAdjustmentRequestDto,
  OrganizationLimitsUpdateDto,
  OrganizationsQuery,
  OrganizationStatusChangeDto,
  toOrganizationLimitChanges,
} from './dto/operator-organization.dto';
import { requireOrganizationId, toDetailsRecord, toOrganizationRecord } from './operator-organization-record';

type Schemas = components['schemas'];

@Controller('dashboard/api/operator/organizations')
export class OperatorOrganizationsController {
  constructor(
    private readonly directory: OperatorOrganizationService,
    private readonly organizations: OrganizationService,
    private readonly adjustments: BalanceAdjustmentService,
  ) {}

  @Get()
  @Session('operator')
  async listOperatorOrganizations(
    @Query(strictDto) query: OrganizationsQuery,
  ): Promise<Schemas['OperatorOrganizationList']> {
    const { status = null, search = null, limit = DEFAULT_PAGE_LIMIT, cursor = null } = query;
    const { items, nextCursor } = await this.directory.list({ status, search }, { limit, cursor });
    return { object: 'list', data: items.map(toOrganizationRecord), next_cursor: nextCursor };
  }

  @Get(':organization_id')
  @Session('operator')
  async getOperatorOrganization(
    @Param('organization_id') organizationId: string,
  ): Promise<Schemas['OperatorOrganizationDetails']> {
    return toDetailsRecord(await this.directory.require(requireOrganizationId(organizationId)));
  }

  @Patch(':organization_id')
  @Session('operator')
  async updateOperatorOrganization(
    @Param('organization_id') organizationId: string,
    @Body(strictDto) body: OrganizationLimitsUpdateDto,
    @Caller() { actor }: DashboardCaller,
  ): Promise<Schemas['OperatorOrganizationDetails']> {
    const changes = toOrganizationLimitChanges(body);
    return toDetailsRecord(await this.directory.updateLimits(requireOrganizationId(organizationId), changes, actor));
  }

  @Post(':organization_id/suspend')
  @HttpCode(200)
  @Session('operator')
  async suspendOrganization(
    @Param('organization_id') organizationId: string,
    @Body(strictDto) { reason }: OrganizationStatusChangeDto,
    @Caller() { actor }: DashboardCaller,
  ): Promise<Schemas['OperatorOrganizationDetails']> {
    const { id } = await this.organizations.suspend(requireOrganizationId(organizationId), reason, actor);
    return toDetailsRecord(await this.directory.require(id));
  }

  @Post(':organization_id/activate')
  @HttpCode(200)
  @Session('operator')
  async activateOrganization(
    @Param('organization_id') organizationId: string,
    @Body(strictDto) { reason }: OrganizationStatusChangeDto,
    @Caller() { actor }: DashboardCaller,
  ): Promise<Schemas['OperatorOrganizationDetails']> {
    const { id } = await this.organizations.activate(requireOrganizationId(organizationId), reason, actor);
    return toDetailsRecord(await this.directory.require(id));
  }

  @Post(':organization_id/adjustments')
  @HttpCode(200)
  @Session('operator')
  async adjustBalance(
    @Param('organization_id') organizationId: string,
    @Body(strictDto) body: BalanceAdjustmentRequestDto,
    @Caller() { actor }: DashboardCaller,
  ): Promise<Schemas['BalanceAdjustment']> {
    const { amount_micro, reason, reference } = body;
    const id = requireOrganizationId(organizationId);
    const adjustment = { amountMicro: BigInt(amount_micro), reference, reason };
    const { applied, balanceMicro } = await this.adjustments.adjust(id, adjustment, actor);
    const balance_micro = microToJson(balanceMicro);
    return { object: 'balance_adjustment', organization_id: id, amount_micro, reference, applied, balance_micro };
  }
}
