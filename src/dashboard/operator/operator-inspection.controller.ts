import { Body, Controller, Get, HttpCode, Param, Post, Query } from '@nestjs/common';
import { ApiKeyReader } from '../../auth/api-keys/api-key.reader';
import { PurchaseService } from '../../billing/payments/purchase.service';
import type { components } from '../../contract/dashboard';
import { Session } from '../../core/http/route.decorators';
import { PageQuery } from '../../core/validation/query-fields';
import { strictDto } from '../../core/validation/strict-dto.pipe';
import { ApiKeyQuery } from '../api-keys/dto/api-key.dto';
import { toApiKey } from '../api-keys/to-api-key';
import { toList, toPageRequest } from '../list';
import { MemberService } from '../organizations/member.service';
import { OperatorOrganizationService } from '../organizations/operator-organization.service';
import { toMember } from '../organizations/replies';
import { Caller, type DashboardCaller } from '../session/caller';
import { OperatorPurchasesQuery, PurchaseReviewDto } from './dto/operator-organization.dto';
import { requireOrganizationId } from './operator-organization-record';
import { toOperatorPurchase } from './purchase-record';

type Schemas = components['schemas'];

/** Members, keys and payments of organizations, which operators read; payments can also be reviewed. */
@Controller('dashboard/api/operator')
export class OperatorInspectionController {
  constructor(
    private readonly directory: OperatorOrganizationService,
    private readonly members: MemberService,
    private readonly keys: ApiKeyReader,
    private readonly purchases: PurchaseService,
  ) {}

  @Get('organizations/:organization_id/members')
  @Session('operator')
  async listOperatorMembers(
    @Param('organization_id') id: string,
    @Query(strictDto) query: PageQuery,
  ): Promise<Schemas['MemberList']> {
    return toList(await this.members.page(await this.requireOrganization(id), toPageRequest(query)), toMember);
  }

  @Get('organizations/:organization_id/keys')
  @Session('operator')
  async listOperatorApiKeys(
    @Param('organization_id') id: string,
    @Query(strictDto) query: ApiKeyQuery,
  ): Promise<Schemas['ApiKeyList']> {
    return toList(await this.keys.page(await this.requireOrganization(id), query, toPageRequest(query)), toApiKey);
  }

  @Get('organizations/:organization_id/purchases')
  @Session('operator')
  async listOperatorOrganizationPurchases(
    @Param('organization_id') id: string,
    @Query(strictDto) query: OperatorPurchasesQuery,
  ): Promise<Schemas['OperatorPurchaseList']> {
    return this.listPurchases(query, await this.requireOrganization(id));
  }

  @Get('purchases')
  @Session('operator')
  listOperatorPurchases(@Query(strictDto) query: OperatorPurchasesQuery): Promise<Schemas['OperatorPurchaseList']> {
    return this.listPurchases(query);
  }

  @Post('purchases/:purchase_id/review')
  @HttpCode(200)
  @Session('operator')
  async reviewPurchase(
    @Param('purchase_id') purchaseId: string,
    @Body(strictDto) { note }: PurchaseReviewDto,
    @Caller() { actor }: DashboardCaller,
  ): Promise<Schemas['OperatorPurchase']> {
    return toOperatorPurchase(await this.purchases.review(purchaseId, note, actor));
  }

  private async listPurchases(
    query: OperatorPurchasesQuery,
    organizationId?: string,
  ): Promise<Schemas['OperatorPurchaseList']> {
    const filter = { organizationId, state: query.status, needsReview: query.needs_review };
    return toList(await this.purchases.listForStaff(filter, toPageRequest(query)), toOperatorPurchase);
  }

  private async requireOrganization(id: string): Promise<string> {
    return (await this.directory.require(requireOrganizationId(id))).id;
  }
}
