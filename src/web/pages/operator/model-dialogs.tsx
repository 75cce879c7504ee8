import { useState } from 'react';
import type { ModelUpdate, OperatorModel } from '../../../contract/dashboard';
import { api, unwrap } from '../../api/client';
import { operatorKeys, type ModelPath } from '../../api/operator';
import { useNotice } from '../../app/notices';
import { Button } from '../../ui/button';
import { Dialog } from '../../ui/dialog';
import { ChangeForm, SelectField } from '../../ui/form';
import { useChange } from '../../ui/use-change';
import { changedFields, RATE_LIMIT_NAMES, RateLimitFields, rateLimitsOf } from './limit-fields';

interface ModelDialogProps {
  readonly model: OperatorModel;
  readonly path: ModelPath;
  readonly onClose: () => void;
}

function useModelUpdate({ path, onClose }: ModelDialogProps, done: string) {
  const notice = useNotice();
  return useChange({
    change: (body: ModelUpdate) =>
      unwrap(api.PATCH('/dashboard/api/operator/models/{vendor}/{name}', { params: { path }, body })),
    invalidates: [operatorKeys.models, operatorKeys.deployments, operatorKeys.audit],
    onDone: () => {
      notice(done);
      onClose();
    },
  });
}

/** The choice of an operator, or that of the catalogue files. */
export type Choice = 'files' | 'yes' | 'no';

export function choiceOf(decided: boolean | null): Choice {
  return decided === null ? 'files' : decided ? 'yes' : 'no';
}

export function decisionOf(choice: string | undefined): boolean | null {
  return choice === 'yes' ? true : choice === 'no' ? false : null;
}

export const CHOICES = [
  ['files', 'As in the catalogue files'],
  ['yes', 'Enabled'],
  ['no', 'Disabled'],
] as const;

export function AvailabilityDialog(props: ModelDialogProps) {
  const update = useModelUpdate(props, 'Availability changed');
  return (
    <Dialog title={`Availability of ${props.model.id}`} onClose={props.onClose}>
      <ChangeForm
        fields={['enabled']}
        submit="Change"
        pending={update.pending}
        error={update.error}
        onSubmit={({ enabled }) => update.run({ enabled: decisionOf(enabled) })}
        actions={<Button onClick={props.onClose}>Cancel</Button>}
      >
        <SelectField
          name="enabled"
          label="The model is"
          hint="Requests for a disabled model are refused within a second. Your setting is kept when the files are imported again."
          defaultValue={choiceOf(props.model.decided_enabled)}
          options={CHOICES}
        />
      </ChangeForm>
    </Dialog>
  );
}

export function ModelLimitsDialog(props: ModelDialogProps) {
  // As the form shows it: what others change meanwhile is not changed back.
  const [model] = useState(props.model);
  const update = useModelUpdate(props, 'Limits set');
  return (
    <Dialog title={`Limits of ${props.model.id}`} onClose={props.onClose}>
      <p className="mb-4 text-muted">The limits apply to all callers together, within a second.</p>
      <ChangeForm
        fields={RATE_LIMIT_NAMES}
        submit="Set limits"
        pending={update.pending}
        error={update.error}
        onSubmit={(values) => update.run(changedFields<ModelUpdate>(model, rateLimitsOf(values)))}
        actions={<Button onClick={props.onClose}>Cancel</Button>}
      >
        <RateLimitFields limits={props.model} />
      </ChangeForm>
    </Dialog>
  );
}
