import { queryOptions, useQuery } from '@tanstack/react-query';
import type { ApiKey, UsageRequest } from '../../../contract/dashboard';
import { api, unwrap } from '../../api/client';
import { formatDuration } from '../../format/count';
import { Amount } from '../../ui/amount';
import { Badge } from '../../ui/badge';
import { ButtonLink } from '../../ui/button';
import { Card } from '../../ui/card';
import { DataTable, type Column } from '../../ui/data-table';
import { Empty } from '../../ui/empty';
import { Moment, TimeHead } from '../../ui/moment';
import { QueryView } from '../../ui/query-view';

const SHOWN = 10;

const requestsOfKeyQuery = (organizationId: string, keyId: string) =>
  queryOptions({
    queryKey: ['organization', organizationId, 'requests', 'of-key', keyId],
    queryFn: ({ signal }) =>
      unwrap(
        api.GET('/dashboard/api/organizations/{organization_id}/usage/requests', {
          params: { path: { organization_id: organizationId }, query: { key_id: keyId, limit: SHOWN } },
          signal,
        }),
      ),
  });

const COLUMNS: ReadonlyArray<Column<UsageRequest>> = [
  {
    id: 'time',
    head: <TimeHead />,
    cell: ({ created_at: time }) => (
      <span className="max-sm:block max-sm:w-21 max-sm:[&>time]:whitespace-normal">
        <Moment time={time} />
      </span>
    ),
  },
  {
    id: 'model',
    head: 'Model',
    cell: ({ model }) => (
      <span className="block max-w-32 truncate sm:max-w-80" title={model}>
        {model}
      </span>
    ),
  },
  {
    id: 'status',
    head: 'Status',
    priority: 'middle',
    cell: ({ status, http_status: code, error_code: error }) => (
      <Badge tone={status === 'success' ? 'good' : 'bad'}>{error ?? String(code)}</Badge>
    ),
  },
  { id: 'total', head: 'Duration', end: true, priority: 'low', cell: ({ total_ms: ms }) => formatDuration(ms) },
  { id: 'cost', head: 'Cost', end: true, cell: ({ cost_micro: micro }) => <Amount micro={micro} /> },
];

/** The latest requests with the key. */
export function KeyRequests({ apiKey: { id, organization_id: org } }: { readonly apiKey: ApiKey }) {
  const query = useQuery(requestsOfKeyQuery(org, id));
  return (
    <Card
      flush
      className="mt-4"
      title="Latest requests"
      actions={
        <ButtonLink small to="/o/$org/requests" params={{ org }} search={{ key_id: id }}>
          All requests of this key
        </ButtonLink>
      }
    >
      <QueryView query={query}>
        {({ data }) => (
          <DataTable
            label="Latest requests"
            columns={COLUMNS}
            rows={data}
            rowKey={({ id: request }) => request}
            rowLink={({ id: request }) => ({ to: '/o/$org/requests/$request', params: { org, request } })}
            empty={<Empty title="No requests with this key" />}
          />
        )}
      </QueryView>
    </Card>
  );
}
