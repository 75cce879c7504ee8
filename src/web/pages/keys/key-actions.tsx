import { useState } from 'react';
import type { ApiKey } from '../../../contract/dashboard';
import { api, unwrap } from '../../api/client';
import { keysKey } from '../../api/keys';
import { ErrorText } from '../../app/failure-view';
import { useNotice } from '../../app/notices';
import { useOrganization } from '../../app/use-session';
import { Banner } from '../../ui/banner';
import { Button } from '../../ui/button';
import { ConfirmDialog } from '../../ui/confirm-dialog';
import { useChange } from '../../ui/use-change';
import { ReplaceDialog } from './replace-dialog';
import { SettingsDialog } from './settings-dialog';

type Opened = 'settings' | 'replace' | 'disable' | 'revoke' | null;

/** What a developer can do with a key in its state. An open dialog outlives the state: it may show a secret. */
export function KeyActions({ apiKey }: { readonly apiKey: ApiKey }) {
  const { may } = useOrganization();
  const [opened, setOpened] = useState<Opened>(null);
  const close = (): void => setOpened(null);
  const mayChange = may('developer') && apiKey.status !== 'revoked';
  return (
    <>
      {mayChange && <ActionButtons apiKey={apiKey} onOpen={setOpened} />}
      {opened === 'settings' && <SettingsDialog apiKey={apiKey} onClose={close} />}
      {opened === 'replace' && <ReplaceDialog apiKey={apiKey} onClose={close} />}
      {opened === 'disable' && <DisableDialog apiKey={apiKey} onClose={close} />}
      {opened === 'revoke' && <RevokeDialog apiKey={apiKey} onClose={close} />}
    </>
  );
}

interface ActionButtonsProps {
  readonly apiKey: ApiKey;
  readonly onOpen: (dialog: Opened) => void;
}

function ActionButtons({ apiKey, onOpen }: ActionButtonsProps) {
  const isReplaced = apiKey.revoked_at !== null;
  const revoke = (
    <Button variant="danger" onClick={() => onOpen('revoke')}>
      Revoke
    </Button>
  );
  if (apiKey.kind === 'playground') return revoke;
  return (
    <>
      <Button onClick={() => onOpen('settings')}>Settings</Button>
      {!isReplaced && apiKey.status !== 'expired' && <Button onClick={() => onOpen('replace')}>Replace</Button>}
      {apiKey.status === 'disabled' && <EnableButton apiKey={apiKey} />}
      {apiKey.status === 'active' && <Button onClick={() => onOpen('disable')}>Disable</Button>}
      {revoke}
    </>
  );
}

interface KeyDialogProps {
  readonly apiKey: ApiKey;
  readonly onClose: () => void;
}

function pathOf({ organization_id, id }: ApiKey) {
  return { path: { organization_id, key_id: id } };
}

function EnableButton({ apiKey }: { readonly apiKey: ApiKey }) {
  const notice = useNotice();
  const enable = useChange({
    change: () =>
      unwrap(
        api.POST('/dashboard/api/organizations/{organization_id}/keys/{key_id}/enable', { params: pathOf(apiKey) }),
      ),
    invalidates: [keysKey(apiKey.organization_id)],
    onDone: () => notice('Key enabled'),
  });
  return (
    <>
      <Button pending={enable.pending} onClick={() => enable.run(undefined)}>
        Enable
      </Button>
      {enable.error !== null && (
        <Banner tone="bad" role="alert">
          <ErrorText error={enable.error} />
        </Banner>
      )}
    </>
  );
}

function DisableDialog({ apiKey, onClose }: KeyDialogProps) {
  const notice = useNotice();
  const disable = useChange({
    change: () =>
      unwrap(
        api.POST('/dashboard/api/organizations/{organization_id}/keys/{key_id}/disable', { params: pathOf(apiKey) }),
      ),
    invalidates: [keysKey(apiKey.organization_id)],
    onDone: () => {
      notice('Key disabled');
      onClose();
    },
  });
  return (
    <ConfirmDialog
      title={`Disable “${apiKey.name}”?`}
      confirm="Disable key"
      onConfirm={() => disable.run(undefined)}
      onClose={onClose}
      pending={disable.pending}
      error={disable.error}
    >
      Within a second, requests with this key are refused, until you enable it again. Requests in flight finish.
    </ConfirmDialog>
  );
}

function RevokeDialog({ apiKey, onClose }: KeyDialogProps) {
  const notice = useNotice();
  const revoke = useChange({
    change: () =>
      unwrap(
        api.POST('/dashboard/api/organizations/{organization_id}/keys/{key_id}/revoke', { params: pathOf(apiKey) }),
      ),
    invalidates: [keysKey(apiKey.organization_id)],
    onDone: () => {
      notice('Key revoked');
      onClose();
    },
  });
  return (
    <ConfirmDialog
      title={`Revoke “${apiKey.name}”?`}
      confirm="Revoke key"
      onConfirm={() => revoke.run(undefined)}
      onClose={onClose}
      pending={revoke.pending}
      error={revoke.error}
    >
      {apiKey.kind === 'playground' ? (
        'Within a second, open pages of this user can no longer send requests. The playground gets a new key with its next request.'
      ) : (
        <>
          Within a second, requests with <span className="font-mono">{`${apiKey.prefix}…${apiKey.last4}`}</span> are
          refused permanently. This cannot be undone. Applications that still use the key fail with 401. To change over
          without a gap, replace the key instead.
        </>
      )}
    </ConfirmDialog>
  );
}
