import { Body, Controller, Get, HttpCode, Param, Post, Query, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { PageQuery } from '../../core/validation/query-fields';
import { strictDto } from '../../core/validation/strict-dto.pipe';
import type { Purchase, PurchaseList } from '../../contract/dashboard';
import { Idempotent, Session } from '../../core/http/route.decorators';
import { PurchaseService } from '../../billing/payments/purchase.service';
import { toList, toPageRequest } from '../list';
import { Caller, type DashboardCaller, requireOrganization } from '../session/caller';
import { PurchaseCreationDto } from './dto/billing.dto';
import { toPurchaseReply } from './billing-replies';

/** Credit purchases of an organization. */
@Controller('dashboard/api/organizations/:organization_id/billing/purchases')
export class PurchasesController {
  constructor(private readonly purchases: PurchaseService) {}

  @Post()
  @Session('admin')
  @Idempotent()
  async createPurchase(
    @Body(strictDto) { amount_micro: amount }: PurchaseCreationDto,
    @Caller() caller: DashboardCaller,
    @Req() { context }: FastifyRequest,
  ): Promise<Purchase> {
    const order = { amountMicro: BigInt(amount), idempotencyKey: context.idempotencyKey };
    return toPurchaseReply(await this.purchases.create(requireOrganization(caller), order, caller.actor));
  }

  @Get()
  @Session('admin')
  async listPurchases(@Query(strictDto) query: PageQuery, @Caller() caller: DashboardCaller): Promise<PurchaseList> {
    return toList(await this.purchases.list(requireOrganization(caller), toPageRequest(query)), toPurchaseReply);
  }

  @Get(':purchase_id')
  @Session('admin')
  async getPurchase(@Param('purchase_id') id: string, @Caller() caller: DashboardCaller): Promise<Purchase> {
    return toPurchaseReply(await this.purchases.get(requireOrganization(caller), id));
  }

  @Post(':purchase_id/cancel')
  @HttpCode(200)
  @Session('admin')
  async cancelPurchase(@Param('purchase_id') id: string, @Caller() caller: DashboardCaller): Promise<Purchase> {
    return toPurchaseReply(await this.purchases.cancel(requireOrganization(caller), id, caller.actor));
  }
}
