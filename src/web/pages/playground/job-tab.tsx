import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';
import type { Model } from '../../../contract/dashboard';
import { isApiError } from '../../api/errors';
import { newIdempotencyKey } from '../../api/idempotency-key';
import { cancelJob, hasEnded, jobQuery } from '../../api/jobs';
import { callV1 } from '../../api/v1';
import { useOrganization } from '../../app/use-session';
import { Amount } from '../../ui/amount';
import { Banner } from '../../ui/banner';
import { Button } from '../../ui/button';
import { Card } from '../../ui/card';
import { Empty } from '../../ui/empty';
import { QueryView } from '../../ui/query-view';
import { Skeleton } from '../../ui/skeleton';
import { useChange } from '../../ui/use-change';
import { JobOutputs } from '../jobs/job-outputs';
import { JobState, ProgressBar } from '../jobs/job-status';
import { CodeButton } from './code-button';
import { EstimateLine } from './estimate-line';
import { RequestFailure } from './failure';
import { FormLayout } from './form-layout';
import { jobBody, JobFields, NO_JOB_DRAFT } from './job-fields';
import { JsonButton } from './json-button';
import { useSpending } from './playground-context';
import { modelOf, type TabProps } from './tab';
import { useDraft } from './use-draft';

interface JobTabProps extends TabProps {
  readonly kind: 'video' | 'music';
}

const PATHS = { video: '/v1/video/generations', music: '/v1/music/generations' } as const;
const OPERATIONS = { video: 'createVideo', music: 'createMusic' } as const;
const MAX_SHOWN = 10;

/** Submits jobs and follows them. A job goes on without the page. */
export function JobTab({ kind, ...props }: JobTabProps) {
  const { id } = useOrganization();
  const [draft, setDraft] = useDraft(`${id} ${kind}`, NO_JOB_DRAFT);
  const [jobIds, setJobIds] = useDraft<readonly string[]>(`${id} ${kind} jobs`, []);
  const model: Model = modelOf(props, draft.model);
  const body = jobBody(model, draft);
  const idempotency = useIdempotencyKey(`${id} ${kind}`, body);
  const submission = useChange({
    change: async () => {
      const reply = await callV1(id, PATHS[kind], { body, idempotencyKey: idempotency.keep() });
      return (await reply.json()) as { readonly id: string };
    },
    invalidates: [['organization', id, 'jobs']],
    onDone: (job) => {
      idempotency.renew();
      setJobIds([job.id, ...jobIds.filter((known) => known !== job.id)].slice(0, MAX_SHOWN));
    },
  });
  const ready = draft.prompt.trim() !== '';
  return (
    <FormLayout
      submit={`Generate ${kind}`}
      ready={ready}
      pending={submission.pending}
      onSubmit={() => submission.run(undefined)}
      actions={<CodeButton build={() => ({ path: PATHS[kind], body, needsIdempotencyKey: true })} />}
      note={<EstimateLine operation={OPERATIONS[kind]} request={body} enabled={ready && !submission.pending} />}
      results={
        <>
          {submission.error !== null && <RequestFailure error={submission.error} />}
          {jobIds.length === 0 && submission.error === null && (
            <Empty title="No job yet">
              Jobs run in the background. You can leave this page and find them under Jobs.
            </Empty>
          )}
          {jobIds.map((jobId) => (
            <JobCard key={jobId} jobId={jobId} />
          ))}
        </>
      }
    >
      <JobFields kind={kind} models={props.models} model={model} draft={draft} onChange={setDraft} />
    </FormLayout>
  );
}

/**
 * The same key for the same request until it is accepted, so that a second click, or another try after a lost reply or
 * a reload, makes no second job.
 */
function useIdempotencyKey(name: string, body: object): { readonly keep: () => string; readonly renew: () => void } {
  const text = JSON.stringify(body);
  const [sent, setSent] = useDraft<{ readonly text: string; readonly key: string } | null>(`${name} key`, null);
  return {
    keep: () => {
      if (sent?.text === text) return sent.key;
      const key = newIdempotencyKey();
      setSent({ text, key });
      return key;
    },
    renew: () => setSent(null),
  };
}

function JobCard({ jobId }: { readonly jobId: string }) {
  const { id } = useOrganization();
  const { addSpent } = useSpending();
  const queries = useQueryClient();
  const query = useQuery(jobQuery(id, jobId));
  const job = query.data?.job;
  const isGone = isApiError(query.error, 'not_found');
  const wasRunning = useRef(false);
  useEffect(() => {
    if (job === undefined) return;
    if (!hasEnded(job.status)) wasRunning.current = true;
    else if (wasRunning.current) {
      wasRunning.current = false;
      addSpent(job.cost_micro);
    }
  }, [job, addSpent]);
  const cancel = useChange({
    change: () => cancelJob(id, jobId),
    onDone: (canceled) => queries.setQueryData(jobQuery(id, jobId).queryKey, canceled),
    invalidates: [['organization', id, 'billing']],
  });
  if (isGone) return null;
  return (
    <Card
      title={
        <Link to="/o/$org/jobs/$job" params={{ org: id, job: jobId }} className="link">
          Job {jobId.slice(-6)}
        </Link>
      }
      actions={job !== undefined && <JobState status={job.status} progress={job.progress} />}
    >
      <QueryView query={query} loading={<Skeleton className="h-16 w-full" />}>
        {({ job: current }) => (
          <div className="space-y-3">
            <p className="line-clamp-2 wrap-anywhere">{String(current.params.prompt)}</p>
            {!hasEnded(current.status) && <ProgressBar label={`Progress of job ${jobId}`} percent={current.progress} />}
            {current.status === 'succeeded' && (
              <JobOutputs artifacts={current.artifacts} onRenew={() => void query.refetch()} />
            )}
            {current.error !== null && (
              <Banner tone="bad" title={current.error.code}>
                {current.error.message}
              </Banner>
            )}
            {cancel.error !== null && <RequestFailure error={cancel.error} />}
            <div className="flex flex-wrap items-center justify-between gap-2">
              <p className="text-muted">
                {hasEnded(current.status) ? 'Charged ' : 'Held '}
                <span className="font-medium text-ink">
                  <Amount micro={hasEnded(current.status) ? current.cost_micro : current.estimated_cost_micro} />
                </span>
              </p>
              <JsonButton requestId={current.request_id} />
              {!hasEnded(current.status) && (
                <Button small pending={cancel.pending} onClick={() => cancel.run(undefined)}>
                  Cancel
                </Button>
              )}
            </div>
          </div>
        )}
      </QueryView>
    </Card>
  );
}
