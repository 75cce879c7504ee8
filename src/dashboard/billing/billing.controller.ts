import { Body, Controller, Get, Patch, Query, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { Answer } from '../../core/http/answer';
import { PageQuery } from '../../core/validation/query-fields';
import { strictDto } from '../../core/validation/strict-dto.pipe';
import type { Balance, BillingSettings, HoldList, LedgerEntryList } from '../../contract/dashboard';
import { AccountStatementRepository } from '../../billing/payments/account-statement.repository';
import { BillingSettingsService } from '../../billing/payments/billing-settings.service';
import { PaymentProviders } from '../../billing/payments/payment-providers';
import { toList, toPageRequest } from '../list';
import { toCsvAnswer } from '../csv-answer';
import { Session } from '../../core/http/route.decorators';
import { Caller, type DashboardCaller, requireOrganization } from '../session/caller';
import {
  LEDGER_CSV_HEADER,
  toBalance,
  toBillingSettings,
  toHold,
  toLedgerCsvLine,
  toLedgerEntry,
} from './billing-replies';
import { BillingSettingsUpdateDto, LedgerFilterQuery, LedgerQuery } from './dto/billing.dto';

/** Rows per query, all in memory at once. */
const EXPORT_PAGE = 1_000;

/** Balance, holds, ledger and billing settings of an organization. */
@Controller('dashboard/api/organizations/:organization_id/billing')
export class BillingController {
  constructor(
    private readonly statement: AccountStatementRepository,
    private readonly settings: BillingSettingsService,
    private readonly providers: PaymentProviders,
  ) {}

  @Get('balance')
  @Session('viewer')
  async getBalance(@Caller() caller: DashboardCaller): Promise<Balance> {
    const organizationId = requireOrganization(caller);
    const [state, settings, limits] = await Promise.all([
      this.statement.getState(organizationId),
      this.settings.get(organizationId),
      this.settings.getPurchaseLimits(organizationId),
    ]);
    return toBalance({ state, settings, limits, canBuy: this.providers.canSell });
  }

  @Get('holds')
  @Session('admin')
  async listHolds(@Query(strictDto) query: PageQuery, @Caller() caller: DashboardCaller): Promise<HoldList> {
    return toList(await this.statement.findHolds(requireOrganization(caller), toPageRequest(query)), toHold);
  }

  @Get('ledger')
  @Session('admin')
  async listLedgerEntries(
    @Query(strictDto) query: LedgerQuery,
    @Caller() caller: DashboardCaller,
  ): Promise<LedgerEntryList> {
    const organizationId = requireOrganization(caller);
    const lines = await this.statement.findLedgerLines(organizationId, query, toPageRequest(query));
    return { ...toList(lines, toLedgerEntry), charges_kept_from: await this.statement.chargesKeptFrom() };
  }

  @Get('ledger.csv')
  @Session('admin')
  async exportLedger(
    @Query(strictDto) query: LedgerFilterQuery,
    @Caller() caller: DashboardCaller,
    @Req() { method }: FastifyRequest,
  ): Promise<Answer> {
    const keptFrom = await this.statement.chargesKeptFrom();
    const pages = this.statement.readLedger(requireOrganization(caller), query, { pageSize: EXPORT_PAGE, keptFrom });
    const headers = { ...(keptFrom !== null && { 'x-charges-kept-from': keptFrom }) };
    return toCsvAnswer(
      { name: 'ledger.csv', headers, header: LEDGER_CSV_HEADER, pages, toLine: toLedgerCsvLine },
      method,
    );
  }

  @Patch('settings')
  @Session('owner')
  async updateBillingSettings(
    @Body(strictDto) body: BillingSettingsUpdateDto,
    @Caller() caller: DashboardCaller,
  ): Promise<BillingSettings> {
    const changes = {
      monthlyLimitMicro: toMicro(body.monthly_limit_micro),
      lowBalanceThresholdMicro: toMicro(body.low_balance_threshold_micro),
    };
    return toBillingSettings(await this.settings.update(requireOrganization(caller), changes, caller.actor));
  }
}

function toMicro(amount: number | null | undefined): bigint | null | undefined {
  return amount === null || amount === undefined ? amount : BigInt(amount);
}
