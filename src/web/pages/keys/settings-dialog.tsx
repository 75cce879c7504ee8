import { useState } from 'react';
import type { ApiKey } from '../../../contract/dashboard';
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
  // As the form shows them: what others change meanwhile is not changed back.
  const [texts] = useState(() => textsOf(apiKey));
  const update = useChange({
    change: async (after: SettingsTexts) => {
      const body = changedSettings(texts, after);
      if (Object.keys(body).length === 0) return;
      await unwrap(
        api.PATCH('/dashboard/api/organizations/{organization_id}/keys/{key_id}', { params: { path }, body }),
      );
    },
    invalidates: [keysKey(apiKey.organization_id)],
    onDone: () => {
      notice('Settings saved');
      onClose();
    },
  });
  return (
    <Dialog title={`Settings of “${apiKey.name}”`} onClose={onClose}>
      <p className="mb-4 text-muted">Changes apply to new requests within a second. Usage counts are kept.</p>
      <ChangeForm
        fields={SETTINGS_FIELDS}
        submit="Save"
        pending={update.pending}
        error={update.error}
        onSubmit={(values) => update.run({ ...texts, ...values })}
        actions={<Button onClick={onClose}>Cancel</Button>}
      >
        <SettingsFields texts={texts} open />
      </ChangeForm>
    </Dialog>
  );
}
