import type { ApiKey, ApiKeySettings } from '../../../contract/dashboard';
import { api, unwrap } from '../../api/client';
import { keysKey } from '../../api/keys';
import { useNotice } from '../../app/notices';
import { Button } from '../../ui/button';
import { Dialog } from '../../ui/dialog';
import { ChangeForm } from '../../ui/form';
import { useChange } from '../../ui/use-change';
import { changedSettings, SETTINGS_FIELDS, textsOf, type SettingsTexts } from './key-settings';
import { SettingsFields } from './settings-fields';

interface SettingsDialogProps {
  readonly apiKey: ApiKey;
  readonly onClose: () => void;
}

/** Changes the settings of a key; only those that differ are sent. */
export function SettingsDialog({ apiKey, onClose }: SettingsDialogProps) {
  const notice = useNotice();
  const path = { organization_id: apiKey.organization_id, key_id: apiKey.id };
  const texts = textsOf(apiKey);
  const update = useChange({
    change: (body: ApiKeySettings) =>
      unwrap(api.PATCH('/dashboard/api/organizations/{organization_id}/keys/{key_id}', { params: { path }, body })),
    invalidates: [keysKey(apiKey.organization_id)],
    onDone: () => {
      notice('Settings saved');
      onClose();
    },
  });
  const save = (values: Partial<SettingsTexts>): void => {
    const changes = changedSettings(texts, { ...texts, ...values });
    if (Object.keys(changes).length === 0) onClose();
    else update.run(changes);
  };
  return (
    <Dialog title={`Settings of “${apiKey.name}”`} onClose={onClose}>
      <p className="mb-4 text-muted">Changes apply to new requests within a second. Counts of use continue.</p>
      <ChangeForm
        fields={SETTINGS_FIELDS}
        submit="Save"
        pending={update.pending}
        error={update.error}
        onSubmit={save}
        actions={<Button onClick={onClose}>Cancel</Button>}
      >
        <SettingsFields texts={texts} open />
      </ChangeForm>
    </Dialog>
  );
}
