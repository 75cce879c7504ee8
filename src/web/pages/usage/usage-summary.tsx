import { useQuery } from '@tanstack/react-query';
import type { UsageSums } from '../../../contract/dashboard';
import { usageSeriesQuery } from '../../api/usage';
import { useOrganization } from '../../app/use-session';
import { formatCount, formatDuration } from '../../format/count';
import { Amount } from '../../ui/amount';
import { Card, Facts } from '../../ui/card';
import { Sparkline } from '../../ui/chart/chart';
import { QueryView } from '../../ui/query-view';

type Scope = { readonly key_id: string } | { readonly model: string };

/** `320 ms, 95% within 1.2 s`; null leaves the fact out. */
function timesInWords(times: UsageSums['total_ms']): string | null {
  return times === null ? null : `${formatDuration(times.p50)}, 95% within ${formatDuration(times.p95)}`;
}

/** What one key or model cost in 30 days. */
export function UsageSummary({ of }: { readonly of: Scope }) {
  const { id } = useOrganization();
  const query = useQuery(usageSeriesQuery(id, { interval: 'day', ...of }));
  return (
    <Card title="Last 30 days">
      <QueryView query={query}>
        {({ total, data: [all] }) =>
          all === undefined ? (
            <p className="text-muted">No requests.</p>
          ) : (
            <div className="flex flex-wrap items-start justify-between gap-4">
              <Facts
                facts={[
                  ['Cost', <Amount key="cost" micro={total.cost_micro} />],
                  ['Requests', formatCount(total.requests)],
                  ['Failed', formatCount(total.errors)],
                  ['Input tokens', formatCount(total.input_tokens)],
                  ['Output tokens', formatCount(total.output_tokens)],
                  ['First token', timesInWords(total.first_token_ms)],
                  ['Total time', timesInWords(total.total_ms)],
                ]}
              />
              <Sparkline
                values={all.buckets.map(({ cost_micro: micro }) => BigInt(micro))}
                color="var(--color-accent)"
              />
            </div>
          )
        }
      </QueryView>
    </Card>
  );
}
