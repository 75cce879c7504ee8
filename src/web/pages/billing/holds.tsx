import { useInfiniteQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { Hold } from '../../../contract/dashboard';
import { holdsQuery } from '../../api/ledger';
import { useOrganization } from '../../app/use-session';
import { Amount } from '../../ui/amount';
import { Card } from '../../ui/card';
import { type Column, DataTable } from '../../ui/data-table';
import { Empty } from '../../ui/empty';
import { KeyName } from '../../ui/key-name';
import { Ago } from '../../ui/moment';
import { LoadMore } from '../../ui/pager';
import { QueryView } from '../../ui/query-view';

const COLUMNS: ReadonlyArray<Column<Hold>> = [
  { id: 'age', head: 'Since', cell: ({ since }) => <Ago time={since} /> },
  { id: 'for', head: 'For', cell: (hold) => <HeldFor {...hold} /> },
  { id: 'key', head: 'Key', cell: ({ key_id }) => <KeyName keyId={key_id} />, priority: 'middle' },
  { id: 'amount', head: 'Amount', cell: ({ amount_micro }) => <Amount micro={amount_micro} />, end: true },
];

/** The holds for requests in flight and for jobs that have not ended. */
export function Holds() {
  const holds = useInfiniteQuery(holdsQuery(useOrganization().id));
  return (
    <Card
      flush
      title="Holds"
      description="The highest possible cost of each request or job, held until its actual cost is known."
    >
      <QueryView query={holds}>
        {({ pages }) => (
          <DataTable
            label="Holds"
            rows={pages.flatMap(({ data }) => data)}
            rowKey={({ request_id }) => request_id}
            columns={COLUMNS}
            empty={<Empty title="Nothing is held">No request or job is running.</Empty>}
          />
        )}
      </QueryView>
      <LoadMore query={holds} />
    </Card>
  );
}

function HeldFor({ job_id, request_id }: Hold) {
  const { id: org } = useOrganization();
  if (job_id === null) {
    return (
      <span title={request_id} className="block max-w-28 sm:max-w-64 truncate font-mono text-xs">
        {request_id}
      </span>
    );
  }
  return (
    <Link
      to="/o/$org/jobs/$job"
      params={{ org, job: job_id }}
      title={job_id}
      className="link block max-w-28 sm:max-w-64 truncate font-mono text-xs"
    >
      Job {job_id}
    </Link>
  );
}
