import { microToJson } from '../../core/types/micro';
import type { UsageSeries as UsageSeriesReply, UsageSums as UsageSumsReply } from '../../contract/dashboard';
import type { UsageSeries } from '../../billing/usage/usage-series.service';
import type { UsageSums } from '../../billing/usage/usage.types';

export function toSeriesReply({ interval, groupBy, from, to, total, groups }: UsageSeries): UsageSeriesReply {
  return {
    object: 'usage.series',
    interval,
    group_by: groupBy,
    from: from.toISOString(),
    to: to.toISOString(),
    total: toSums(total),
    data: groups.map((group) => ({
      object: 'usage.group',
      group: group.name,
      total: toSums(group.total),
      buckets: group.buckets.map(({ startsAt, ...sums }) => ({ starts_at: startsAt.toISOString(), ...toSums(sums) })),
    })),
  };
}

function toSums(sums: UsageSums): UsageSumsReply {
  return {
    requests: sums.requests,
    errors: sums.errors,
    input_tokens: sums.inputTokens,
    output_tokens: sums.outputTokens,
    cost_micro: microToJson(sums.chargedMicro),
  };
}
