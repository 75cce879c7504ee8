import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { isApiError } from '../../api/errors';
import { receiptQuery } from '../../api/requests';
import { NoSuchPage } from '../../app/no-such-page';
import { useOrganization } from '../../app/use-session';
import { CopyButton } from '../../ui/copy-button';
import { PageHeader } from '../../ui/page-header';
import { QueryView } from '../../ui/query-view';
import { Skeleton } from '../../ui/skeleton';
import { ExplainLink } from './explain-link';
import { Receipt } from './receipt';

/** The receipt of one request. */
export function RequestPage() {
  const { request } = useParams({ from: '/signed-in/o/$org/requests/$request' });
  const organization = useOrganization();
  const query = useQuery(receiptQuery(organization.id, request));
  if (isApiError(query.error, 'not_found')) return <NoSuchPage object="request" />;
  const id = query.data?.request_id ?? request;
  return (
    <>
      <PageHeader
        title="Request"
        actions={query.data !== undefined && <ExplainLink receipt={query.data} />}
        description={
          <span className="flex flex-wrap items-center gap-2">
            <code className="font-mono text-[0.8125rem] break-all">{id}</code>
            <CopyButton text={id} object="request id" />
          </span>
        }
      />
      <QueryView query={query} loading={<Skeleton className="h-96 w-full" />}>
        {(receipt) => <Receipt receipt={receipt} />}
      </QueryView>
    </>
  );
}
