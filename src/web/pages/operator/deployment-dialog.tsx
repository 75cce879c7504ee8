import type { Deployment, DeploymentUpdate } from '../../../contract/dashboard';
import { api, unwrap } from '../../api/client';
import { operatorKeys } from '../../api/operator';
import { useNotice } from '../../app/notices';
import { MOST } from '../../format/limits';
import { Button } from '../../ui/button';
import { Dialog } from '../../ui/dialog';
import { ChangeForm, SelectField } from '../../ui/form';
import { useChange } from '../../ui/use-change';
import { changedFields, LimitField, limitOf } from './limit-fields';
import { CHOICES, choiceOf, decisionOf } from './model-dialogs';

interface DeploymentDialogProps {
  readonly deployment: Deployment;
  readonly onClose: () => void;
}

export function DeploymentDialog({ deployment, onClose }: DeploymentDialogProps) {
  const notice = useNotice();
  const { id, provider, upstream_model: upstream, decided } = deployment;
  const update = useChange({
    change: (body: DeploymentUpdate) =>
      unwrap(
        api.PATCH('/dashboard/api/operator/deployments/{deployment_id}', {
          params: { path: { deployment_id: id } },
          body,
        }),
      ),
    invalidates: [operatorKeys.deployments, operatorKeys.models, operatorKeys.providers, operatorKeys.audit],
    onDone: () => {
      notice('Deployment changed');
      onClose();
    },
  });
  return (
    <Dialog title={`${provider}: ${upstream}`} onClose={onClose}>
      <p className="mb-4 text-muted">Your settings override the catalogue files, also after later imports.</p>
      <ChangeForm
        fields={['enabled', 'priority', 'weight']}
        submit="Change"
        pending={update.pending}
        error={update.error}
        onSubmit={(values) =>
          update.run(
            changedFields<DeploymentUpdate>(decided, {
              enabled: decisionOf(values.enabled),
              priority: limitOf(values, 'priority'),
              weight: limitOf(values, 'weight'),
            }),
          )
        }
        actions={<Button onClick={onClose}>Cancel</Button>}
      >
        <SelectField
          name="enabled"
          label="The deployment is"
          defaultValue={choiceOf(decided.enabled)}
          options={CHOICES}
        />
        <div className="grid gap-4 sm:grid-cols-2">
          <LimitField
            name="priority"
            label="Order"
            hint={`The lowest is tried first. Empty: as in the files. Now ${deployment.priority}`}
            value={decided.priority}
            min={0}
            max={MOST.deploymentPriority}
          />
          <LimitField
            name="weight"
            label="Weight"
            hint={`Share of requests among deployments with the same order. Empty: as in the files. Now ${deployment.weight}`}
            value={decided.weight}
            max={MOST.deploymentWeight}
          />
        </div>
      </ChangeForm>
    </Dialog>
  );
}
