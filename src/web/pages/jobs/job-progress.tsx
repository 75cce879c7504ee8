import type { Job } from '../../../contract/dashboard';
import { hasEnded } from '../../api/jobs';
import { formatDuration } from '../../format/count';
import { Ago, Moment, TimeHead } from '../../ui/moment';
import { Card } from '../../ui/card';
import { ProgressBar } from './job-status';

const ENDINGS: Readonly<Record<string, string>> = {
  succeeded: 'Succeeded',
  failed: 'Failed',
  canceled: 'Canceled',
  expired: 'Expired',
};

interface Step {
  readonly name: string;
  readonly at: string | null;
  /** `next`: not reached yet. */
  readonly state: 'done' | 'current' | 'next';
  readonly tookMs?: number | null;
}

/** The steps of a job with their times. */
export function JobProgress({ job }: { readonly job: Job }) {
  const ended = hasEnded(job.status);
  return (
    <Card title="Steps" description={<TimeHead label="Times" />}>
      {!ended && (
        <div className="mb-4">
          <p className="mb-1 flex justify-between">
            <span>{job.status === 'running' ? 'Generating' : 'Waiting'}</span>
            <span>{job.progress === null ? 'no progress reported' : `${job.progress}%`}</span>
          </p>
          <ProgressBar label="Progress of the job" percent={job.progress} />
        </div>
      )}
      <ol>
        {stepsOf(job).map((step) => (
          <StepLine key={step.name} step={step} />
        ))}
      </ol>
      {!ended && (
        <p className="mt-1 text-muted">
          Expires <Ago time={job.expires_at} /> unless it ends first.
        </p>
      )}
    </Card>
  );
}

function StepLine({ step: { name, at, state, tookMs } }: { readonly step: Step }) {
  const dot = { done: 'bg-accent', current: 'bg-accent animate-pulse', next: 'border border-edge' }[state];
  return (
    <li className="group relative flex gap-3 pb-4 last:pb-1">
      <span className="absolute start-[0.3125rem] top-4 bottom-0 border-s group-last:hidden" aria-hidden="true" />
      <span className={`mt-1.5 size-2.5 shrink-0 rounded-full ${dot}`} aria-hidden="true" />
      <div className={`min-w-0 ${state === 'next' ? 'text-muted' : ''}`}>
        <p className="font-medium">
          {name}
          {state === 'current' && <span className="sr-only"> (now)</span>}
        </p>
        {at !== null && (
          <p className="text-muted">
            <Moment time={at} />
            {tookMs != null && `, after ${formatDuration(tookMs)}`}
          </p>
        )}
      </div>
    </li>
  );
}

function stepsOf({ status, created_at, started_at, completed_at }: Job): readonly Step[] {
  const created: Step = { name: 'Accepted', at: created_at, state: status === 'queued' ? 'current' : 'done' };
  const ended = completed_at !== null;
  const started: Step = {
    name: 'Started at the provider',
    at: started_at,
    state: ended ? 'done' : started_at === null ? 'next' : 'current',
    tookMs: between(created_at, started_at),
  };
  const end: Step = {
    name: ENDINGS[status] ?? 'Result stored',
    at: completed_at,
    state: ended ? 'done' : 'next',
    tookMs: between(started_at ?? created_at, completed_at),
  };
  // A job that ended before it was sent has no step at the provider.
  return ended && started_at === null ? [created, end] : [created, started, end];
}

function between(from: string | null, to: string | null): number | null {
  return from === null || to === null ? null : Date.parse(to) - Date.parse(from);
}
