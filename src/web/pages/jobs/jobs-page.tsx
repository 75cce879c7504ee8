import { useInfiniteQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { jobsQuery } from '../../api/jobs';
import { isFiltered } from '../../app/search-values';
import { useOrganization } from '../../app/use-session';
import { dayAfter } from '../../format/days';
import { Button } from '../../ui/button';
import { Card } from '../../ui/card';
import { Empty } from '../../ui/empty';
import { PageHeader } from '../../ui/page-header';
import { LoadMore } from '../../ui/pager';
import { QueryView } from '../../ui/query-view';
import type { JobSearch } from './job-filters';
import { JobFilterBar } from './job-filter-bar';
import { JobTable } from './job-table';
import { NoJobs } from './no-jobs';

/** Video and music jobs of all keys, newest first. */
export function JobsPage() {
  const { id } = useOrganization();
  const search = useSearch({ from: '/signed-in/o/$org/jobs' });
  const navigate = useNavigate({ from: '/o/$org/jobs' });
  const { key, to, ...others } = search;
  const jobs = useInfiniteQuery(
    jobsQuery(id, { ...others, key_id: key, to: to === undefined ? undefined : dayAfter(to) }),
  );
  const change = (changes: JobSearch): void => void navigate({ search: (current) => ({ ...current, ...changes }) });
  const clear = isFiltered(search) ? (): void => void navigate({ search: {} }) : undefined;
  return (
    <>
      <PageHeader title="Jobs" description="Videos and music generated in the background, newest first." />
      <Card flush>
        <JobFilterBar search={search} onChange={change} onClear={clear} />
        <QueryView query={jobs}>
          {({ pages }) => {
            const rows = pages.flatMap(({ data }) => data);
            if (rows.length === 0) return clear === undefined ? <NoJobs /> : <NoMatch onClear={clear} />;
            return <JobTable jobs={rows} />;
          }}
        </QueryView>
        <LoadMore query={jobs} />
      </Card>
    </>
  );
}

function NoMatch({ onClear }: { readonly onClear: () => void }) {
  return (
    <Empty title="No job matches these filters">
      <Button onClick={onClear}>Show all jobs</Button>
    </Empty>
  );
}
