import { useQuery } from '@tanstack/react-query';
import type { ApiKey } from '../../../contract/dashboard';
import { usageSeriesQuery } from '../../api/usage';
import { formatCount } from '../../format/count';
import { Amount } from '../../ui/amount';
import { Card, Facts } from '../../ui/card';
import { Sparkline } from '../../ui/chart/chart';
import { QueryView } from '../../ui/query-view';

/** What a key cost in 30 days. The API lists the most expensive keys; all others are one sum. */
export function KeyUsage({ apiKey }: { readonly apiKey: ApiKey }) {
  const query = useQuery(usageSeriesQuery(apiKey.organization_id, { interval: 'day', group_by: 'key' }));
  return (
    <Card title="Last 30 days">
      <QueryView query={query}>
        {({ data }) => {
          const found = data.find(({ group }) => group === apiKey.id);
          if (found === undefined) {
            const isHidden = data.some(({ group }) => group === 'other');
            return (
              <p className="text-muted">
                {isHidden ? 'Not among the 20 most expensive keys of the organization.' : 'No requests.'}
              </p>
            );
          }
          const { total, buckets } = found;
          return (
            <div className="flex flex-wrap items-start justify-between gap-4">
              <Facts
                facts={[
                  ['Cost', <Amount key="cost" micro={total.cost_micro} />],
                  ['Requests', formatCount(total.requests)],
                  ['Failed', formatCount(total.errors)],
                  ['Input tokens', formatCount(total.input_tokens)],
                  ['Output tokens', formatCount(total.output_tokens)],
                ]}
              />
              <Sparkline values={buckets.map(({ cost_micro: micro }) => BigInt(micro))} color="var(--color-accent)" />
            </div>
          );
        }}
      </QueryView>
    </Card>
  );
}
