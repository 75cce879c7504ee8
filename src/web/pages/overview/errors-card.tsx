import { useQuery } from '@tanstack/react-query';
import { latestRequestsQuery } from '../../api/requests';
import { useOrganization } from '../../app/use-session';
import { ButtonLink } from '../../ui/button';
import { Card } from '../../ui/card';
import { DataTable } from '../../ui/data-table';
import { Ago } from '../../ui/moment';
import { QueryView } from '../../ui/query-view';
import { SkeletonRows } from '../../ui/skeleton';
import { RequestStatus } from '../requests/request-status';
import { ModelName } from '../requests/request-table';

const SHOWN = 5;
const POLL_MS = 30_000;

/** The last requests that failed. */
export function ErrorsCard() {
  const { id } = useOrganization();
  const errors = useQuery(latestRequestsQuery(id, { status: 'error' }, SHOWN, POLL_MS));
  return (
    <Card
      title="Last errors"
      flush
      actions={
        <ButtonLink small to="/o/$org/requests" params={{ org: id }} search={{ status: 'error' }}>
          All errors
        </ButtonLink>
      }
    >
      <QueryView query={errors} loading={<SkeletonRows rows={SHOWN} />}>
        {({ data }) => (
          <DataTable
            label="Last errors"
            rows={data}
            rowKey={(request) => request.id}
            rowLink={({ request_id: request }) => ({
              to: '/o/$org/requests/$request',
              params: { org: id, request },
            })}
            empty={<p className="px-4 pb-4 text-muted sm:px-5">No request has failed.</p>}
            columns={[
              { id: 'model', head: 'Model', cell: ({ model }) => <ModelName model={model} /> },
              { id: 'status', head: 'Status', cell: (request) => <RequestStatus request={request} /> },
              {
                id: 'ago',
                head: 'Ended',
                end: true,
                priority: 'middle',
                cell: ({ created_at: time }) => <Ago time={time} />,
              },
            ]}
          />
        )}
      </QueryView>
    </Card>
  );
}
