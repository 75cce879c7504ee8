import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import type { Job } from '../../../contract/dashboard';
import { api, unwrap } from '../../api/client';
import { cancelJob, hasEnded, jobQuery } from '../../api/jobs';
import { useNotice } from '../../app/notices';
import { useOrganization } from '../../app/use-session';
import { Button } from '../../ui/button';
import { ConfirmDialog } from '../../ui/confirm-dialog';
import { useChange } from '../../ui/use-change';

/** Stops a job that is under way, deletes one that has ended. */
export function JobActions({ job }: { readonly job: Job }) {
  const { may } = useOrganization();
  // A job that ends while the reader decides must not put another question under the pointer.
  const [asked, setAsked] = useState<'stop' | 'delete' | null>(null);
  if (!may('developer')) return null;
  const action = hasEnded(job.status) ? 'delete' : 'stop';
  return (
    <>
      <Button onClick={() => setAsked(action)}>{action === 'delete' ? 'Delete' : 'Stop job'}</Button>
      {asked === 'delete' && <DeleteDialog job={job} onClose={() => setAsked(null)} />}
      {asked === 'stop' && <CancelDialog job={job} onClose={() => setAsked(null)} />}
    </>
  );
}

interface DialogProps {
  readonly job: Job;
  readonly onClose: () => void;
}

function CancelDialog({ job, onClose }: DialogProps) {
  const { id: org } = useOrganization();
  const queries = useQueryClient();
  const notify = useNotice();
  const cancel = useChange({
    change: () => cancelJob(org, job.id),
    invalidates: [
      ['organization', org, 'jobs', 'list'],
      ['organization', org, 'billing'],
    ],
    onDone: (canceled) => {
      queries.setQueryData(jobQuery(org, job.id).queryKey, canceled);
      notify('Job canceled');
      onClose();
    },
  });
  return (
    <ConfirmDialog
      title="Stop this job?"
      confirm="Stop the job"
      pending={cancel.pending}
      error={cancel.error}
      onConfirm={() => cancel.run(undefined)}
      onClose={onClose}
    >
      The provider is asked to stop. Nothing is charged, and the held amount is released.
    </ConfirmDialog>
  );
}

function DeleteDialog({ job, onClose }: DialogProps) {
  const { id: org } = useOrganization();
  const navigate = useNavigate();
  const notify = useNotice();
  const remove = useChange({
    change: () =>
      unwrap(
        api.DELETE('/dashboard/api/organizations/{organization_id}/jobs/{job_id}', {
          params: { path: { organization_id: org, job_id: job.id } },
        }),
      ),
    invalidates: [['organization', org, 'jobs', 'list']],
    onDone: () => {
      notify('Job deleted');
      void navigate({ to: '/o/$org/jobs', params: { org } });
    },
  });
  return (
    <ConfirmDialog
      title="Delete this job?"
      confirm="Delete the job"
      pending={remove.pending}
      error={remove.error}
      onConfirm={() => remove.run(undefined)}
      onClose={onClose}
    >
      Its results are deleted as well, which cannot be undone. The receipt stays.
    </ConfirmDialog>
  );
}
