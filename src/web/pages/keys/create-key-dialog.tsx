import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, unwrap } from '../../api/client';
import { isApiError } from '../../api/errors';
import { keysKey } from '../../api/keys';
import { useOrganization } from '../../app/use-session';
import { useStay } from '../../app/use-stay';
import { Banner } from '../../ui/banner';
import { Button } from '../../ui/button';
import { Dialog } from '../../ui/dialog';
import { ChangeForm } from '../../ui/form';
import { useChange } from '../../ui/use-change';
import { IssuedKey } from './issued-key';
import { changedSettings, SETTINGS_FIELDS, textsOf } from './key-settings';
import { SettingsFields } from './settings-fields';

/** Creates a key, then shows its secret until the dialog closes. */
export function CreateKeyDialog({ onClose }: { readonly onClose: () => void }) {
  const { id } = useOrganization();
  const queries = useQueryClient();
  const [secret, setSecret] = useState<string>();
  const texts = textsOf(undefined);
  const create = useChange({
    change: async (values: Readonly<Record<string, string>>) => {
      const body = changedSettings(texts, { ...texts, ...values });
      const path = { organization_id: id };
      const call = unwrap(api.POST('/dashboard/api/organizations/{organization_id}/keys', { params: { path }, body }));
      // Not returned: results of calls are kept outside of this component.
      setSecret((await call).key);
    },
    invalidates: [keysKey(id)],
  });
  useStay(create.pending && secret === undefined, true);
  if (secret !== undefined) {
    return (
      <Dialog title="Your new API key" onClose={onClose} wide modalOnly>
        <IssuedKey secret={secret} onDone={onClose} />
      </Dialog>
    );
  }
  const wasLost = isApiError(create.error, 'unreachable');
  return (
    // Closed before the reply, it would lose the secret.
    <Dialog title="Create an API key" onClose={onClose} modalOnly={create.pending}>
      {wasLost && (
        <Banner tone="warn" title="The key may exist">
          No reply arrived, and its secret is lost. Look at the list, and revoke a key that you do not recognize.{' '}
          <Button
            small
            onClick={() => {
              void queries.invalidateQueries({ queryKey: keysKey(id) });
              onClose();
            }}
          >
            Show the list
          </Button>
        </Banner>
      )}
      <ChangeForm
        fields={SETTINGS_FIELDS}
        submit="Create key"
        pending={create.pending}
        error={create.error}
        onSubmit={create.run}
        actions={
          <Button disabled={create.pending} onClick={onClose}>
            Cancel
          </Button>
        }
      >
        <SettingsFields texts={texts} open={false} />
      </ChangeForm>
    </Dialog>
  );
}
