import type { Command } from 'commander';
import { COMMAND_LINE } from '../../core/types/actor';
import { type Micro, microToJson } from '../../core/types/micro';
import { OperatorOrganizationService } from '../../dashboard/organizations/operator-organization.service';
import { findPurchases } from '../../billing/payments/purchase.repository';
import { withContext } from '../cli-context';
import { type CommandResult, formatFields, formatMicro, formatTable, run } from '../command-result';
import { parseAmountOrNone, parseId } from '../option-parsers';
import { noneToNull } from '../rate-options';

const LISTED = 100;

/** Commands for credit purchases. */
export function addPurchaseCommands(program: Command): void {
  const purchase = program.command('purchase').description('manage credit purchases of organizations');
  purchase
    .command('list')
    .description(`show the last ${LISTED} purchases of an organization`)
    .requiredOption('--org <id>', 'organization id', parseId)
    .action(run(listPurchases));
  purchase
    .command('limit')
    .description('limit the credit that an organization may buy; omitted limits are unchanged')
    .requiredOption('--org <id>', 'organization id', parseId)
    .option('--day-micro <amount>', 'per day (UTC); "none": platform limit', parseAmountOrNone)
    .option('--month-micro <amount>', 'per calendar month (UTC); "none": platform limit', parseAmountOrNone)
    .action(run(limitPurchases));
}

function listPurchases({ org }: { readonly org: string }): Promise<CommandResult> {
  return withContext(async ({ dataSource, organizations }) => {
    await organizations.require(org);
    const { items } = await findPurchases(dataSource.manager, org, { limit: LISTED, cursor: null });
    return {
      text: formatTable(
        ['ID', 'STATUS', 'AMOUNT', 'CREATED', 'NOTE'],
        items.map(({ id, state, amountMicro, createdAt, failure }) => [
          id,
          state,
          formatMicro(amountMicro),
          createdAt.toISOString(),
          failure ?? '',
        ]),
        'No purchases.',
      ),
      json: {
        purchases: items.map((item) => ({
          id: item.id,
          provider: item.provider,
          status: item.state,
          amount_micro: microToJson(item.amountMicro),
          refunded_micro: microToJson(item.refundedMicro),
          disputed_micro: microToJson(item.disputedMicro),
          owed_micro: microToJson(item.owedMicro),
          payment_reference: item.paymentReference,
          failure: item.failure,
          created_at: item.createdAt.toISOString(),
        })),
      },
    };
  });
}

interface LimitOptions {
  readonly org: string;
  readonly dayMicro?: Micro | 'none';
  readonly monthMicro?: Micro | 'none';
}

function limitPurchases({ org, dayMicro, monthMicro }: LimitOptions): Promise<CommandResult> {
  return withContext(async ({ dataSource, redis }) => {
    const changes = {
      ...(dayMicro !== undefined && { purchaseLimitDayMicro: noneToNull(dayMicro) }),
      ...(monthMicro !== undefined && { purchaseLimitMonthMicro: noneToNull(monthMicro) }),
    };
    const after = await new OperatorOrganizationService(dataSource, redis).updateLimits(org, changes, COMMAND_LINE);
    const { purchaseLimitDayMicro: day, purchaseLimitMonthMicro: month } = after;
    return {
      text: formatFields([
        ['Per day', day === null ? 'platform limit' : formatMicro(day)],
        ['Per month', month === null ? 'platform limit' : formatMicro(month)],
      ]),
      json: {
        organization_id: org,
        purchase_limit_day_micro: day === null ? null : microToJson(day),
        purchase_limit_month_micro: month === null ? null : microToJson(month),
      },
    };
  });
}
