import type { DeploymentHealth } from '../../../contract/dashboard';
import { api, unwrap } from '../../api/client';
import { operatorKeys } from '../../api/operator';
import { useNotice } from '../../app/notices';
import { formatDuration } from '../../format/count';
import { Badge } from '../../ui/badge';
import { ConfirmDialog } from '../../ui/confirm-dialog';
import { useChange } from '../../ui/use-change';
import { BREAKER_STATES } from './words';

/** The state on the instance that responds and, where it differs, that of all instances. */
export function BreakerBadge({ health }: { readonly health: DeploymentHealth }) {
  const { state, shared_state: shared, wait_ms: wait } = health;
  return (
    <span className="inline-flex flex-wrap items-center gap-1.5">
      <Badge tone={state === 'closed' ? 'good' : 'bad'}>{BREAKER_STATES[state]}</Badge>
      {shared === null ? (
        <Badge tone="warn">shared state unknown</Badge>
      ) : (
        shared !== state && <Badge tone="warn">{BREAKER_STATES[shared]} on all instances</Badge>
      )}
      {wait > 0 && <span className="text-muted">for {formatDuration(Math.ceil(wait / 1000) * 1000)}</span>}
    </span>
  );
}

interface ResetBreakerDialogProps {
  /** Of the deployment. */
  readonly id: string;
  readonly name: string;
  readonly onClose: () => void;
}

export function ResetBreakerDialog({ id, name, onClose }: ResetBreakerDialogProps) {
  const notice = useNotice();
  const reset = useChange({
    change: () =>
      unwrap(
        api.POST('/dashboard/api/operator/deployments/{deployment_id}/reset-breaker', {
          params: { path: { deployment_id: id } },
        }),
      ),
    invalidates: [operatorKeys.providers, operatorKeys.audit],
    onDone: () => {
      notice('Breaker reset');
      onClose();
    },
  });
  return (
    <ConfirmDialog
      title={`Reset the breaker of ${name}?`}
      confirm="Reset breaker"
      pending={reset.pending}
      error={reset.error}
      onConfirm={() => reset.run(undefined)}
      onClose={onClose}
    >
      Its failures and cool-downs are cleared on all instances, and requests are sent to it at once. If it still fails,
      the breaker opens again.
    </ConfirmDialog>
  );
}
