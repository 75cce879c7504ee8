import { useQuery } from '@tanstack/react-query';
import type { Instance, TaskLease } from '../../../contract/dashboard';
import { instancesQuery, taskLeasesQuery } from '../../api/operator';
import { countOf, formatDuration } from '../../format/count';
import { Badge } from '../../ui/badge';
import { Banner } from '../../ui/banner';
import { Card } from '../../ui/card';
import { DataTable, type Column } from '../../ui/data-table';
import { Empty } from '../../ui/empty';
import { Moment, TimeHead } from '../../ui/moment';
import { PageHeader } from '../../ui/page-header';
import { QueryView } from '../../ui/query-view';
import { expectedVersion, hasOtherVersion } from './instance-versions';

const columnsFor = (expected: string | null): ReadonlyArray<Column<Instance>> => [
  { id: 'id', head: 'Instance', cell: ({ id }) => <code className="font-mono text-[0.8125rem] break-all">{id}</code> },
  {
    id: 'state',
    head: 'State',
    cell: ({ alive }) => <Badge tone={alive ? 'good' : 'bad'}>{alive ? 'alive' : 'gone'}</Badge>,
  },
  {
    id: 'version',
    head: 'Version',
    cell: (instance) => (
      <span className="inline-flex flex-wrap items-center gap-2">
        {instance.version ?? <span className="text-muted">unknown</span>}
        {hasOtherVersion(instance, expected) && <Badge tone="warn">differs</Badge>}
      </span>
    ),
  },
  {
    id: 'started',
    head: <TimeHead label="Started" />,
    priority: 'middle',
    cell: ({ started_at }) => <Moment time={started_at} />,
  },
  {
    id: 'heartbeat',
    head: 'Heartbeat',
    end: true,
    cell: ({ heartbeat_age_ms: age }) => (age < 1000 ? 'now' : `${formatDuration(Math.round(age / 1000) * 1000)} ago`),
  },
];

const TASKS: Readonly<Record<string, string>> = {
  idempotency_sweep: 'Idempotency records',
  ledger_audit: 'Ledger audit',
  ledger_closing: 'Closing of ledger days',
  money_sweep: 'Abandoned holds',
};

const TASK_COLUMNS: ReadonlyArray<Column<TaskLease>> = [
  { id: 'task', head: 'Task', cell: ({ task }) => TASKS[task] ?? task },
  {
    id: 'state',
    head: 'State',
    cell: ({ held }) => <Badge tone={held ? 'good' : 'neutral'}>{held ? 'running' : 'idle'}</Badge>,
  },
  {
    id: 'owner',
    head: 'Process',
    cell: ({ owner }) =>
      owner === null ? (
        <span className="text-muted">none yet</span>
      ) : (
        <code className="font-mono text-[0.8125rem] break-all">{owner}</code>
      ),
  },
  {
    id: 'until',
    head: <TimeHead label="Until" />,
    priority: 'middle',
    cell: ({ until }) => (until === null ? '' : <Moment time={until} />),
  },
];

export function InstancesPage() {
  const query = useQuery(instancesQuery);
  const leases = useQuery(taskLeasesQuery);
  return (
    <>
      <PageHeader
        title="Instances"
        description="Gateway processes with a lease in the database, most recently started first."
      />
      <QueryView query={query}>{(instances) => <Instances instances={instances} />}</QueryView>
      <h2 className="mt-6 mb-3 text-lg font-semibold">Periodic tasks</h2>
      <p className="mb-3 text-muted">
        Each task runs in one process at a time. The current or latest process is listed.
      </p>
      <QueryView query={leases}>
        {(rows) => (
          <Card flush>
            <DataTable
              label="Periodic tasks"
              columns={TASK_COLUMNS}
              rows={rows}
              rowKey={({ task }) => task}
              empty={<Empty title="No tasks">The gateway creates the tasks together with its database.</Empty>}
            />
          </Card>
        )}
      </QueryView>
    </>
  );
}

function Instances({ instances }: { readonly instances: readonly Instance[] }) {
  const expected = expectedVersion(instances);
  const differing = instances.filter((instance) => hasOtherVersion(instance, expected)).length;
  return (
    <>
      {differing > 0 && (
        <Banner tone="warn" title="Not all instances run the same version">
          {countOf(differing, 'instance runs', 'instances run')} another version than {expected ?? 'the latest'}. This
          is normal during a rolling update; otherwise a process was not replaced.
        </Banner>
      )}
      <Card flush>
        <DataTable
          label="Instances"
          columns={columnsFor(expected)}
          rows={instances}
          rowKey={({ id }) => id}
          empty={<Empty title="No instances">Each gateway process appears here within seconds of its start.</Empty>}
        />
      </Card>
    </>
  );
}
