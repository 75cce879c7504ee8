import { useRef } from 'react';
import type { Credential } from '../../../contract/dashboard';
import { api, unwrap } from '../../api/client';
import { operatorKeys } from '../../api/operator';
import { useNotice } from '../../app/notices';
import { Button } from '../../ui/button';
import { ConfirmDialog } from '../../ui/confirm-dialog';
import { Dialog } from '../../ui/dialog';
import { ChangeForm, TextField } from '../../ui/form';
import { useChange } from '../../ui/use-change';

interface CredentialDialogProps {
  readonly credential: Credential;
  readonly onClose: () => void;
}

const INVALIDATES = [operatorKeys.credentials, operatorKeys.providers, operatorKeys.models, operatorKeys.audit];

/**
 * The value is in the field and in a variable of this dialog only: what `run` takes would stay in the cache of queries.
 */
export function SetCredentialDialog({ credential: { name, stored }, onClose }: CredentialDialogProps) {
  const notice = useNotice();
  const value = useRef('');
  const isUrl = name.endsWith('_BASE_URL');
  const set = useChange({
    change: () =>
      unwrap(
        api.PUT('/dashboard/api/operator/credentials/{name}', {
          params: { path: { name } },
          body: { value: value.current },
        }),
      ),
    invalidates: INVALIDATES,
    onDone: () => {
      value.current = '';
      notice('Credential stored');
      onClose();
    },
  });
  return (
    <Dialog title={`${stored === null ? 'Set' : 'Replace'} ${name}`} onClose={onClose}>
      <p className="mb-4">
        All instances use it within seconds, instead of a value from the environment. Calls in flight finish with the
        previous one. It is never shown again.
      </p>
      <ChangeForm
        fields={['value']}
        submit="Store"
        pending={set.pending}
        error={set.error}
        onSubmit={(values) => {
          value.current = values.value ?? '';
          set.run(undefined);
        }}
        actions={<Button onClick={onClose}>Cancel</Button>}
      >
        <TextField
          name="value"
          label={isUrl ? 'URL' : 'Value'}
          type={isUrl ? 'url' : 'password'}
          autoComplete="off"
          spellCheck={false}
          required
          maxLength={4096}
          autoFocus
        />
      </ChangeForm>
    </Dialog>
  );
}

export function DeleteCredentialDialog({ credential: { name }, onClose }: CredentialDialogProps) {
  const notice = useNotice();
  const remove = useChange({
    change: () => unwrap(api.DELETE('/dashboard/api/operator/credentials/{name}', { params: { path: { name } } })),
    invalidates: INVALIDATES,
    onDone: () => {
      notice('Credential deleted');
      onClose();
    },
  });
  return (
    <ConfirmDialog
      title={`Delete ${name}?`}
      confirm="Delete credential"
      pending={remove.pending}
      error={remove.error}
      onConfirm={() => remove.run(undefined)}
      onClose={onClose}
    >
      The stored value is deleted permanently. The value from the environment, if there is one, applies again; otherwise
      the models that need it are no longer served.
    </ConfirmDialog>
  );
}
