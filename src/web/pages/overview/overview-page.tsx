import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { latestRequestsQuery } from '../../api/requests';
import { namedKeysQuery } from '../../api/keys';
import { useOrganization } from '../../app/use-session';
import { ButtonLink } from '../../ui/button';
import { PageHeader } from '../../ui/page-header';
import { QueryView } from '../../ui/query-view';
import { Skeleton } from '../../ui/skeleton';
import { ActivityTiles, MoneyTiles } from './tiles';
import { CostCard } from './cost-card';
import { ErrorsCard } from './errors-card';
import { FirstRequest, FirstSteps } from './first-steps';
import { JobsCard } from './jobs-card';
import { KeysCard } from './keys-card';
import { LatencyCard } from './latency-card';

const POLL_MS = 30_000;
/** While the page waits for the first request. */
const FIRST_REQUEST_POLL_MS = 2000;

/** What an organization has, uses and spends; before its first request, the steps to it. */
export function OverviewPage() {
  const { id } = useOrganization();
  const keys = useQuery(namedKeysQuery(id));
  const [waited, setWaited] = useState(false);
  const waiting = useQuery(latestRequestsQuery(id, {}, 1, waited ? FIRST_REQUEST_POLL_MS : POLL_MS));
  const first = waiting.data?.data[0];
  // Receipts are deleted after their retention, but keys know that they were used.
  const isNew =
    waiting.data !== undefined && first === undefined && keys.data?.every((key) => key.last_used_on === null);
  if (isNew === true && !waited) setWaited(true);
  return (
    <>
      <PageHeader
        title="Overview"
        actions={
          <ButtonLink to="/o/$org/usage" params={{ org: id }}>
            Usage in detail
          </ButtonLink>
        }
      />
      <QueryView query={waiting} loading={<Skeleton className="h-96 w-full" />}>
        {() => (
          <div className="space-y-5">
            {waited && first !== undefined && <FirstRequest request={first} />}
            <MoneyTiles />
            {isNew === true ? <FirstSteps keys={keys.data ?? []} /> : <Activity />}
          </div>
        )}
      </QueryView>
    </>
  );
}

function Activity() {
  return (
    <>
      <ActivityTiles />
      <CostCard />
      <LatencyCard />
      <div className="grid items-start gap-5 xl:grid-cols-2">
        <KeysCard />
        <ErrorsCard />
      </div>
      <JobsCard />
    </>
  );
}
