import { microToJson } from '../../core/types/micro';
import type {
  OperatorUsageSeries as PlatformSeriesReply,
  UsageSeries as UsageSeriesReply,
  UsageSums as UsageSumsReply,
} from '../../contract/dashboard';
import type { PlatformGrouping, UsageSeries } from '../../billing/usage/usage-series.service';
import { latencyOf } from '../../billing/usage/latency';
import type { UsageSums } from '../../billing/usage/usage.types';

export function toSeriesReply(series: UsageSeries): UsageSeriesReply {
  return { object: 'usage.series', group_by: series.groupBy, ...toLines(series) };
}

export function toPlatformSeriesReply(series: UsageSeries<PlatformGrouping>): PlatformSeriesReply {
  return { object: 'operator.usage_series', group_by: series.groupBy, ...toLines(series) };
}

function toLines({ interval, from, to, total, groups }: Omit<UsageSeries, 'groupBy'>) {
  // All groups have the same buckets, and formatting 15,000 dates takes longer than reading their sums.
  const starts = groups[0]?.buckets.map(({ startsAt }) => startsAt.toISOString()) ?? [];
  return {
    interval,
    from: from.toISOString(),
    to: to.toISOString(),
    total: toSums(total),
    data: groups.map((group) => ({
      object: 'usage.group' as const,
      group: group.name,
      total: toSums(group.total),
      buckets: group.buckets.map((bucket, index) => ({ starts_at: starts[index] as string, ...toSums(bucket) })),
    })),
  };
}

function toSums(sums: UsageSums): UsageSumsReply {
  const { firstToken, total } = latencyOf(sums.latency);
  return {
    requests: sums.requests,
    errors: sums.errors,
    input_tokens: sums.inputTokens,
    output_tokens: sums.outputTokens,
    cost_micro: microToJson(sums.chargedMicro),
    first_token_ms: firstToken,
    total_ms: total,
  };
}
