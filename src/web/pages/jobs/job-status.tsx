import type { JobStatus } from '../../../contract/dashboard';
import { hasEnded } from '../../api/jobs';
import { Badge } from '../../ui/badge';
import type { Tone } from '../../ui/banner';

const TONES: Readonly<Record<JobStatus, Tone>> = {
  queued: 'neutral',
  submitted: 'accent',
  running: 'accent',
  succeeded: 'good',
  failed: 'bad',
  canceled: 'neutral',
  expired: 'warn',
};

export function JobStatusBadge({ status }: { readonly status: JobStatus }) {
  return <Badge tone={TONES[status]}>{status}</Badge>;
}

/** The state, and while the job runs also its progress. */
export function JobState({ status, progress }: { readonly status: JobStatus; readonly progress: number | null }) {
  return (
    <span className="inline-flex items-center gap-2">
      <JobStatusBadge status={status} />
      {!hasEnded(status) && progress !== null && <span className="text-muted">{progress}%</span>}
    </span>
  );
}

/** A bar for the progress of a job; it only pulses when the provider reports none. */
export function ProgressBar({ label, percent }: { readonly label: string; readonly percent: number | null }) {
  return (
    <div
      role="progressbar"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={percent ?? undefined}
      className="h-2 overflow-hidden rounded-full bg-sunken"
    >
      <div
        className={`h-full rounded-full bg-accent transition-[width] duration-700 ${percent === null ? 'animate-pulse' : ''}`}
        style={{ width: `${percent ?? 100}%` }}
      />
    </div>
  );
}
