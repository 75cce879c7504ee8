import { queryOptions, useQuery } from '@tanstack/react-query';
import { api, unwrap } from '../../api/client';
import { pollEvery } from '../../api/polling';
import { useOrganization } from '../../app/use-session';
import { Amount } from '../../ui/amount';
import { Badge } from '../../ui/badge';
import { ButtonLink } from '../../ui/button';
import { Card } from '../../ui/card';
import { DataTable } from '../../ui/data-table';
import { Ago } from '../../ui/moment';

const RUNNING = ['running', 'submitted', 'queued'] as const;
const SHOWN = 5;
const POLL_MS = 5000;

const runningJobsQuery = (organizationId: string) =>
  queryOptions({
    queryKey: ['organization', organizationId, 'jobs', 'running'],
    queryFn: async ({ signal }) => {
      const pages = await Promise.all(
        RUNNING.map((status) =>
          unwrap(
            api.GET('/dashboard/api/organizations/{organization_id}/jobs', {
              params: { path: { organization_id: organizationId }, query: { status, limit: SHOWN } },
              signal,
            }),
          ),
        ),
      );
      return pages.flatMap(({ data }) => data).slice(0, SHOWN);
    },
    refetchInterval: ({ state: { data } }) => (data === undefined || data.length === 0 ? false : pollEvery(POLL_MS)()),
  });

/** Video and music jobs in progress; absent without any. */
export function JobsCard() {
  const { id } = useOrganization();
  const jobs = useQuery(runningJobsQuery(id)).data ?? [];
  if (jobs.length === 0) return null;
  return (
    <Card
      title="Running jobs"
      flush
      actions={
        <ButtonLink small to="/o/$org/jobs" params={{ org: id }}>
          All jobs
        </ButtonLink>
      }
    >
      <DataTable
        label="Running jobs"
        rows={jobs}
        rowKey={(job) => job.id}
        rowLink={(job) => ({ to: '/o/$org/jobs/$job', params: { org: id, job: job.id } })}
        columns={[
          { id: 'model', head: 'Model', cell: ({ model }) => <span className="wrap-anywhere">{model}</span> },
          { id: 'status', head: 'Status', cell: ({ status }) => <Badge tone="accent">{status}</Badge> },
          {
            id: 'progress',
            head: 'Progress',
            end: true,
            cell: ({ progress }) => (progress === null ? '' : `${progress}%`),
          },
          { id: 'created', head: 'Submitted', priority: 'middle', cell: ({ created_at: time }) => <Ago time={time} /> },
          {
            id: 'held',
            head: 'Held',
            end: true,
            cell: ({ estimated_cost_micro: micro }) => <Amount micro={micro} />,
          },
        ]}
      />
    </Card>
  );
}
