import type { JobSummary } from '../../../contract/dashboard';
import { useOrganization } from '../../app/use-session';
import { formatDuration } from '../../format/count';
import { Amount } from '../../ui/amount';
import { type Column, DataTable } from '../../ui/data-table';
import { Clapperboard, Music } from '../../ui/icons';
import { KeyName } from '../../ui/key-name';
import { Moment, TimeHead } from '../../ui/moment';
import { JobState } from './job-status';

const COLUMNS: ReadonlyArray<Column<JobSummary>> = [
  { id: 'job', head: 'Job', cell: (job) => <JobName {...job} /> },
  { id: 'status', head: 'Status', cell: (job) => <JobState {...job} /> },
  {
    id: 'created',
    head: <TimeHead label="Created" />,
    cell: (job) => <Moment time={job.created_at} />,
    priority: 'middle',
  },
  { id: 'took', head: 'Duration', cell: (job) => formatDuration(tookMs(job)), end: true, priority: 'low' },
  {
    id: 'key',
    head: 'Key',
    cell: (job) => <KeyName keyId={job.key_id} />,
    priority: 'low',
  },
  { id: 'cost', head: 'Charged', cell: (job) => <Charged {...job} />, end: true },
];

export function JobTable({ jobs }: { readonly jobs: readonly JobSummary[] }) {
  const { id: org } = useOrganization();
  return (
    <DataTable
      label="Jobs"
      rows={jobs}
      rowKey={({ id }) => id}
      rowLink={({ id }) => ({ to: '/o/$org/jobs/$job', params: { org, job: id } })}
      columns={COLUMNS}
    />
  );
}

function JobName({ kind, model }: JobSummary) {
  const Icon = kind === 'video' ? Clapperboard : Music;
  return (
    <span className="inline-flex items-center gap-2">
      <Icon size={16} aria-hidden="true" className="shrink-0 text-muted" />
      <span>
        <span className="sr-only">{kind} </span>
        {model}
      </span>
    </span>
  );
}

/** Before the end, the amount held for the job. */
function Charged({ completed_at, cost_micro, estimated_cost_micro }: JobSummary) {
  if (completed_at !== null) return <Amount micro={cost_micro} />;
  return (
    <span className="text-muted">
      <Amount micro={estimated_cost_micro} /> held
    </span>
  );
}

function tookMs({ created_at, completed_at }: JobSummary): number | null {
  return completed_at === null ? null : Date.parse(completed_at) - Date.parse(created_at);
}
