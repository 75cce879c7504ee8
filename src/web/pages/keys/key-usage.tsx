import { queryOptions, useQuery } from '@tanstack/react-query';
import type { ApiKey } from '../../../contract/dashboard';
import { api, unwrap } from '../../api/client';
import { formatCount } from '../../format/count';
import { Amount } from '../../ui/amount';
import { Card, Facts } from '../../ui/card';
import { QueryView } from '../../ui/query-view';

/** Sums by key of the last 30 days. */
const usageByKeyQuery = (organizationId: string) =>
  queryOptions({
    queryKey: ['organization', organizationId, 'usage', 'by-key', '30d'],
    queryFn: ({ signal }) =>
      unwrap(
        api.GET('/dashboard/api/organizations/{organization_id}/usage/series', {
          params: { path: { organization_id: organizationId }, query: { interval: 'day', group_by: 'key' } },
          signal,
        }),
      ),
    staleTime: 30_000,
  });

/** What a key cost in 30 days. The API lists the most expensive keys; all others are one sum. */
export function KeyUsage({ apiKey }: { readonly apiKey: ApiKey }) {
  const query = useQuery(usageByKeyQuery(apiKey.organization_id));
  return (
    <Card title="Last 30 days">
      <QueryView query={query}>
        {({ data }) => {
          const sums = data.find(({ group }) => group === apiKey.id)?.total;
          if (sums === undefined) {
            const isHidden = data.some(({ group }) => group === 'other');
            return (
              <p className="text-muted">
                {isHidden ? 'Not among the 20 most expensive keys of the organization.' : 'No requests.'}
              </p>
            );
          }
          return (
            <Facts
              facts={[
                ['Cost', <Amount key="cost" micro={sums.cost_micro} />],
                ['Requests', formatCount(sums.requests)],
                ['Failed', formatCount(sums.errors)],
                ['Input tokens', formatCount(sums.input_tokens)],
                ['Output tokens', formatCount(sums.output_tokens)],
              ]}
            />
          );
        }}
      </QueryView>
    </Card>
  );
}
