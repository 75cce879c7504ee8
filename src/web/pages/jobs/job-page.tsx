import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import type { OrganizationJob } from '../../../contract/dashboard';
import { hasEnded, jobQuery } from '../../api/jobs';
import { isApiError } from '../../api/errors';
import { NoSuchPage } from '../../app/no-such-page';
import { useOrganization } from '../../app/use-session';
import { Banner } from '../../ui/banner';
import { ButtonLink } from '../../ui/button';
import { Card } from '../../ui/card';
import { CopyButton } from '../../ui/copy-button';
import { PageHeader } from '../../ui/page-header';
import { QueryView } from '../../ui/query-view';
import { PageSkeleton } from '../../ui/skeleton';
import { DeliveryTable } from '../webhooks/delivery-table';
import { JobActions } from './job-actions';
import { JobCost } from './job-cost';
import { JobParameters } from './job-parameters';
import { JobOutputs } from './job-outputs';
import { JobProgress } from './job-progress';
import { JobStatusBadge } from './job-status';

/** One job: progress until its end, then what it made, what it cost and whom it notified. */
export function JobPage() {
  const { id: org } = useOrganization();
  const { job: jobId } = useParams({ from: '/signed-in/o/$org/jobs/$job' });
  const query = useQuery(jobQuery(org, jobId));
  if (isApiError(query.error, 'not_found')) return <NoSuchPage object="job" />;
  return (
    <QueryView query={query} loading={<PageSkeleton />}>
      {(data) => <JobView {...data} onRenew={() => void query.refetch()} />}
    </QueryView>
  );
}

function JobView({ job, key_id, webhook_deliveries, onRenew }: OrganizationJob & { readonly onRenew: () => void }) {
  return (
    <>
      <JobHeader job={job} />
      {job.error !== null && (
        <Banner tone="bad" title="The job failed">
          {job.error.message} <code className="font-mono text-[0.8125rem]">{job.error.code}</code>. Nothing was charged.
        </Banner>
      )}
      <div className="grid gap-5 lg:grid-cols-[minmax(0,1fr)_minmax(0,22rem)]">
        <div className="min-w-0 space-y-5">
          {job.status === 'succeeded' && <JobOutputs artifacts={job.artifacts} onRenew={onRenew} />}
          <JobParameters job={job} />
        </div>
        <div className={`min-w-0 space-y-5 ${hasEnded(job.status) ? '' : 'max-lg:order-first'}`}>
          <JobProgress job={job} />
          <JobCost job={job} keyId={key_id} />
        </div>
        <div className="min-w-0 lg:col-span-2">
          <Card
            flush
            title="Webhook deliveries"
            description={job.webhook_url === null ? undefined : `To ${job.webhook_url}`}
          >
            <DeliveryTable
              deliveries={webhook_deliveries}
              label="Webhook deliveries"
              empty={<p className="px-4 pb-4 text-muted sm:px-5">{whyNoDelivery(job)}</p>}
            />
          </Card>
        </div>
      </div>
    </>
  );
}

function JobHeader({ job }: Pick<OrganizationJob, 'job'>) {
  const { id: org } = useOrganization();
  return (
    <PageHeader
      title={
        <span className="inline-flex flex-wrap items-center gap-3">
          {job.kind === 'video' ? 'Video' : 'Music'} job <JobStatusBadge status={job.status} />
        </span>
      }
      description={
        <span className="flex flex-wrap items-center gap-x-2">
          {job.model}
          <span className="inline-flex items-center gap-1 font-mono text-xs">
            {job.id}
            <CopyButton text={job.id} object="job id" />
          </span>
        </span>
      }
      actions={
        <>
          {hasEnded(job.status) && (
            <ButtonLink to="/o/$org/requests/$request" params={{ org, request: job.request_id }}>
              Receipt
            </ButtonLink>
          )}
          <JobActions job={job} />
        </>
      }
    />
  );
}

function whyNoDelivery({ webhook_url, status }: OrganizationJob['job']): string {
  if (webhook_url === null) return 'The request named no webhook_url, so nothing is sent.';
  if (!hasEnded(status)) return 'A webhook is sent when the job succeeds or fails.';
  return status === 'canceled' || status === 'expired'
    ? 'Canceled and expired jobs send no webhook.'
    : 'Deliveries are kept for 30 days.';
}
