import { useRef } from 'react';
import type { ProviderInstance, ProviderInstanceUpdate } from '../../../contract/dashboard';
import { api, unwrap } from '../../api/client';
import { operatorKeys } from '../../api/operator';
import { useNotice } from '../../app/notices';
import { MOST } from '../../format/limits';
import { Button } from '../../ui/button';
import { ConfirmDialog } from '../../ui/confirm-dialog';
import { Dialog } from '../../ui/dialog';
import { ChangeForm, TextField } from '../../ui/form';
import { useChange } from '../../ui/use-change';
import { type FormValues, LimitField, limitOf } from './limit-fields';
import { keyInWords } from './key-in-words';

const INVALIDATES = [operatorKeys.credentials, operatorKeys.providers, operatorKeys.models, operatorKeys.audit];

interface SetProviderInstanceDialogProps {
  /** Absent for a new one. */
  readonly instance: ProviderInstance | undefined;
  readonly onClose: () => void;
}

/**
 * Stored keys are kept or removed, and one can be added. A new key is in the form only, never in the cache of queries.
 */
export function SetProviderInstanceDialog({ instance, onClose }: SetProviderInstanceDialogProps) {
  const notice = useNotice();
  const values = useRef<FormValues>({});
  const keys = instance?.settings?.api_keys ?? [];
  const set = useChange({
    change: () =>
      unwrap(
        api.PUT('/dashboard/api/operator/provider-instances/{id}', {
          params: { path: { id: instance?.id ?? values.current.id ?? '' } },
          body: toUpdate(values.current, instance),
        }),
      ),
    invalidates: INVALIDATES,
    onDone: () => {
      values.current = {};
      notice('Provider instance stored');
      onClose();
    },
  });
  return (
    <Dialog title={instance === undefined ? 'New provider instance' : `Change ${instance.id}`} onClose={onClose}>
      <ChangeForm
        fields={['id', 'module', 'base_url', 'key', 'weight']}
        submit="Store"
        pending={set.pending}
        error={set.error}
        onSubmit={(submitted) => {
          values.current = submitted;
          set.run(undefined);
        }}
        actions={<Button onClick={onClose}>Cancel</Button>}
      >
        {instance === undefined && (
          <TextField
            name="id"
            label="Name"
            hint="Lower-case letters, digits and dashes, for example vllm-eu."
            pattern="[a-z0-9\-]{1,63}"
            required
            autoFocus
          />
        )}
        <TextField
          name="module"
          label="Wire format"
          hint="The id of a provider, for example openai-compatible."
          required
          maxLength={63}
          defaultValue={instance?.settings?.module ?? ''}
        />
        <TextField
          name="base_url"
          label="Address"
          hint="Empty: the default of the provider."
          type="url"
          maxLength={2048}
          defaultValue={instance?.settings?.base_url ?? ''}
        />
        {keys.length > 0 && (
          <fieldset>
            <legend className="font-medium">Keys to keep</legend>
            {keys.map((key) => (
              <label key={key.id} className="mt-1 flex items-center gap-2">
                <input type="checkbox" name={`keep.${key.id}`} defaultChecked className="size-4 accent-accent" />
                <span className="font-mono">{keyInWords(key)}</span>
              </label>
            ))}
          </fieldset>
        )}
        <div className="grid gap-4 sm:grid-cols-2">
          <TextField
            name="key"
            label="New key"
            hint="Never shown again."
            type="password"
            autoComplete="off"
            maxLength={4096}
          />
          <LimitField
            name="weight"
            label="Weight of the new key"
            hint="Share of the calls. Empty: 1"
            value={null}
            max={MOST.keyWeight}
          />
        </div>
      </ChangeForm>
    </Dialog>
  );
}

/** The list of keys is stored as a whole: one that another operator added since the dialog opened must not get lost. */
function toUpdate(values: FormValues, instance: ProviderInstance | undefined): ProviderInstanceUpdate {
  const keys = instance?.settings?.api_keys ?? [];
  const kept = keys.filter(({ id }) => `keep.${id}` in values).map(({ id, weight }) => ({ id, weight }));
  const added = values.key ? [{ key: values.key, weight: limitOf(values, 'weight') }] : [];
  return {
    module: values.module ?? '',
    base_url: values.base_url || null,
    api_keys: [...kept, ...added],
    expected_updated_at: instance?.updated_at ?? null,
  };
}

interface DeleteProviderInstanceDialogProps {
  readonly id: string;
  readonly onClose: () => void;
}

export function DeleteProviderInstanceDialog({ id, onClose }: DeleteProviderInstanceDialogProps) {
  const notice = useNotice();
  const remove = useChange({
    change: () => unwrap(api.DELETE('/dashboard/api/operator/provider-instances/{id}', { params: { path: { id } } })),
    invalidates: INVALIDATES,
    onDone: () => {
      notice('Provider instance deleted');
      onClose();
    },
  });
  return (
    <ConfirmDialog
      title={`Delete ${id}?`}
      confirm="Delete instance"
      pending={remove.pending}
      error={remove.error}
      onConfirm={() => remove.run(undefined)}
      onClose={onClose}
    >
      Its address and keys are deleted permanently, and its deployments are no longer served. Calls in flight finish.
    </ConfirmDialog>
  );
}
