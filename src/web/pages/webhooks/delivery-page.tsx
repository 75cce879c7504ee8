import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import type { WebhookAttempt, WebhookDelivery } from '../../../contract/dashboard';
import { api, unwrap } from '../../api/client';
import { isApiError } from '../../api/errors';
import { deliveryQuery } from '../../api/webhooks';
import { ErrorText } from '../../app/failure-view';
import { NoSuchPage } from '../../app/no-such-page';
import { useNotice } from '../../app/notices';
import { useOrganization } from '../../app/use-session';
import { formatCount, formatDuration } from '../../format/count';
import { Badge } from '../../ui/badge';
import { Banner } from '../../ui/banner';
import { Card, Facts } from '../../ui/card';
import { CopyButton } from '../../ui/copy-button';
import { type Column, DataTable } from '../../ui/data-table';
import { Moment, TimeHead } from '../../ui/moment';
import { PageHeader } from '../../ui/page-header';
import { QueryView } from '../../ui/query-view';
import { RoleButton } from '../../ui/role-button';
import { PageSkeleton } from '../../ui/skeleton';
import { useChange } from '../../ui/use-change';
import { DeliveryStateBadge, Outcome, STATE_IN_WORDS } from './delivery-words';
import { NextAttempt } from './next-attempt';

/** One delivery with its attempts. */
export function DeliveryPage() {
  const { id: org } = useOrganization();
  const { delivery: deliveryId } = useParams({ from: '/signed-in/o/$org/webhooks/$delivery' });
  const query = useQuery(deliveryQuery(org, deliveryId));
  if (isApiError(query.error, 'not_found')) return <NoSuchPage object="delivery" />;
  return (
    <QueryView query={query} loading={<PageSkeleton />}>
      {({ delivery, attempts }) => (
        <>
          <DeliveryHeader delivery={delivery} />
          <div className="space-y-5">
            <DeliveryFacts delivery={delivery} />
            <Attempts attempts={attempts} />
          </div>
        </>
      )}
    </QueryView>
  );
}

function DeliveryHeader({ delivery }: { readonly delivery: WebhookDelivery }) {
  const { id: org } = useOrganization();
  const notice = useNotice();
  const resend = useChange({
    change: () =>
      unwrap(
        api.POST('/dashboard/api/organizations/{organization_id}/webhook-deliveries/{delivery_id}/redeliver', {
          params: { path: { organization_id: org, delivery_id: delivery.id } },
        }),
      ),
    invalidates: [['organization', org, 'webhooks']],
    onDone: () => notice('Due now'),
  });
  return (
    <>
      <PageHeader
        title={
          <span className="inline-flex flex-wrap items-center gap-3">
            Webhook delivery <DeliveryStateBadge state={delivery.state} />
          </span>
        }
        description={STATE_IN_WORDS[delivery.state]}
        actions={
          <RoleButton least="developer" pending={resend.pending} onClick={() => resend.run(undefined)}>
            {delivery.state === 'pending' ? 'Send now' : 'Resend'}
          </RoleButton>
        }
      />
      {resend.error !== null && (
        <Banner tone="bad" role="alert">
          <ErrorText error={resend.error} />
        </Banner>
      )}
    </>
  );
}

function DeliveryFacts({ delivery }: { readonly delivery: WebhookDelivery }) {
  const { id: org } = useOrganization();
  const { id, event, job_id, url, attempts, created_at, ended_at, next_attempt_at } = delivery;
  return (
    <Card title="Delivery" description={<TimeHead label="Times" />}>
      <Facts
        facts={[
          ['Event', <code key="event">{event}</code>],
          [
            'Job',
            job_id === null ? null : (
              <Link key="job" to="/o/$org/jobs/$job" params={{ org, job: job_id }} className="link font-mono text-xs">
                {job_id}
              </Link>
            ),
          ],
          ['Receiver', url],
          [
            'webhook-id',
            <span key="id" className="flex items-center gap-1 font-mono text-xs">
              {id}
              <CopyButton text={id} object="webhook-id" />
            </span>,
          ],
          ['Attempts', formatCount(attempts)],
          ['Next attempt', next_attempt_at === null ? null : <NextAttempt key="next" time={next_attempt_at} />],
          ['Created', <Moment key="created" time={created_at} />],
          ['Ended', ended_at === null ? null : <Moment key="ended" time={ended_at} />],
        ]}
      />
    </Card>
  );
}

const ATTEMPT_COLUMNS: ReadonlyArray<Column<WebhookAttempt>> = [
  { id: 'number', head: 'No.', cell: ({ number }) => formatCount(number) },
  {
    id: 'result',
    head: 'Result',
    cell: ({ error }) => (
      <Badge tone={error === null ? 'good' : 'bad'}>{error === null ? 'delivered' : 'failed'}</Badge>
    ),
  },
  { id: 'answer', head: 'Response', cell: (attempt) => <Outcome {...attempt} /> },
  {
    id: 'time',
    head: <TimeHead label="Started" />,
    cell: ({ started_at }) => <Moment time={started_at} />,
    priority: 'middle',
  },
  { id: 'took', head: 'Duration', cell: ({ duration_ms }) => formatDuration(duration_ms), end: true },
];

function Attempts({ attempts }: { readonly attempts: readonly WebhookAttempt[] }) {
  return (
    <Card flush title="Attempts" description="Request and response bodies are not stored.">
      <DataTable
        label="Attempts"
        rows={attempts}
        rowKey={({ number }) => String(number)}
        empty={<p className="px-4 pb-4 text-muted sm:px-5">No attempt has ended yet.</p>}
        columns={ATTEMPT_COLUMNS}
      />
    </Card>
  );
}
