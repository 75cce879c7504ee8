import { useQuery } from '@tanstack/react-query';
import type { Instance } from '../../../contract/dashboard';
import { instancesQuery } from '../../api/operator';
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

export function InstancesPage() {
  const query = useQuery(instancesQuery);
  return (
    <>
      <PageHeader
        title="Instances"
        description="Gateway processes with a lease in the database, most recently started first."
      />
      <QueryView query={query}>{(instances) => <Instances instances={instances} />}</QueryView>
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
