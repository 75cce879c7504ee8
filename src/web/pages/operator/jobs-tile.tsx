import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { JobStatus, OperatorJobSummary } from '../../../contract/dashboard';
import { jobSummaryQuery } from '../../api/operator';
import { formatCount } from '../../format/count';
import { Tile } from '../../ui/card';
import { Ago } from '../../ui/moment';
import { Skeleton } from '../../ui/skeleton';

const UNDER_WAY: readonly JobStatus[] = ['queued', 'submitted', 'running'];

/** Video and music jobs: how many are under way, wait, and failed. */
export function JobsTile() {
  const { data: summary, error } = useQuery(jobSummaryQuery);
  if (summary === undefined) {
    return (
      <Tile label="Jobs in progress">
        {error === null ? <Skeleton className="h-8 w-24" /> : <span className="text-base text-bad">Not loaded</span>}
      </Tile>
    );
  }
  const waiting = jobsIn(summary, ['queued']);
  const failed = jobsIn(summary, ['failed']);
  return (
    <Tile
      label="Jobs in progress"
      note={
        <>
          {waiting === 0 ? 'None waiting' : <Waiting summary={summary} count={waiting} />}
          {failed > 0 && <p title={failedBy(summary)}>{formatCount(failed)} failed in 24 hours</p>}
        </>
      }
    >
      {formatCount(jobsIn(summary, UNDER_WAY))}
    </Tile>
  );
}

function Waiting({ summary, count }: { readonly summary: OperatorJobSummary; readonly count: number }) {
  const { oldest_waiting: oldest } = summary;
  const words = `${formatCount(count)} waiting`;
  if (oldest === null) return words;
  return (
    <Link to="/operator/organizations/$org" params={{ org: oldest.organization_id }} className="link">
      {words}, oldest <Ago time={oldest.created_at} />
    </Link>
  );
}

function jobsIn({ data }: OperatorJobSummary, statuses: readonly JobStatus[]): number {
  return data.filter(({ status }) => statuses.includes(status)).reduce((sum, { jobs }) => sum + jobs, 0);
}

/** `runway: 3, luma: 1` */
function failedBy({ data }: OperatorJobSummary): string {
  return data
    .filter(({ status }) => status === 'failed')
    .map(({ provider, jobs }) => `${provider ?? 'no provider'}: ${formatCount(jobs)}`)
    .join(', ');
}
