import { type Command, Option } from 'commander';
import { toSeriesReply } from '../../dashboard/usage/to-series-reply';
import {
  type Grouping,
  GROUPINGS,
  type UsageSeries,
  UsageSeriesService,
} from '../../billing/usage/usage-series.service';
import { UsageTotalsRepository } from '../../billing/usage/usage-totals.repository';
import type { UsageSums } from '../../billing/usage/usage.types';
import { withContext } from '../cli-context';
import { type CommandResult, formatMicro, formatTable, run } from '../command-result';
import { parseId, parseTime } from '../option-parsers';

export function addUsageCommands(program: Command): void {
  program
    .command('usage')
    .description('usage of organizations')
    .command('show')
    .description('show requests, tokens and cost per group; whole days, in UTC')
    .requiredOption('--org <id>', 'organization id', parseId)
    .option('--from <time>', 'first day; default: 30 days before the last one', parseTime)
    .option('--to <time>', 'end, exclusive; default: now', parseTime)
    .addOption(new Option('--group-by <field>', 'field to group by').choices(GROUPINGS).default('model'))
    .action(run(showUsage));
}

interface UsageOptions {
  readonly org: string;
  readonly from?: Date;
  readonly to?: Date;
  readonly groupBy: Grouping;
}

function showUsage({ org, from, to, groupBy }: UsageOptions): Promise<CommandResult> {
  return withContext(async ({ dataSource, organizations, clock }) => {
    await organizations.require(org);
    const usage = new UsageSeriesService(new UsageTotalsRepository(dataSource, dataSource), clock);
    const series = await usage.series(org, { from, to, groupBy, interval: 'day' });
    return {
      text: `From ${series.from.toISOString()} to ${series.to.toISOString()}:\n${toTable(series)}`,
      json: toSeriesReply(series),
    };
  });
}

function toTable({ groupBy, groups, total }: UsageSeries): string {
  const lines = groups.map((group) => [group.name, ...toCells(group.total)]);
  const sum = groups.length > 1 ? [['total', ...toCells(total)]] : [];
  return formatTable(
    [groupBy.toUpperCase(), 'REQUESTS', 'ERRORS', 'INPUT TOKENS', 'OUTPUT TOKENS', 'COST (MICRO)'],
    [...lines, ...sum],
    'No requests.',
  );
}

function toCells({ requests, errors, inputTokens, outputTokens, chargedMicro }: UsageSums): string[] {
  return [...[requests, errors, inputTokens, outputTokens].map(String), formatMicro(chargedMicro)];
}
