import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import type { ApiKey } from '../../../contract/dashboard';
import { api, unwrap } from '../../api/client';
import { keysKey } from '../../api/keys';
import { useStay } from '../../app/use-stay';
import { Button } from '../../ui/button';
import { Dialog } from '../../ui/dialog';
import { ChangeForm, SelectField } from '../../ui/form';
import { useChange } from '../../ui/use-change';
import { IssuedKey } from './issued-key';

const GRACE_PERIODS = [
  ['0', 'Not at all: revoke it now'],
  ['3600', '1 hour'],
  ['86400', '1 day'],
  ['604800', '7 days'],
  ['2592000', '30 days'],
] as const;

interface ReplaceDialogProps {
  readonly apiKey: ApiKey;
  readonly onClose: () => void;
}

/** Replaces a key by a new one with the same settings, then opens the page of the new one. */
export function ReplaceDialog({ apiKey, onClose }: ReplaceDialogProps) {
  const navigate = useNavigate();
  const [issued, setIssued] = useState<{ readonly secret: string; readonly id: string }>();
  const org = apiKey.organization_id;
  const replace = useChange({
    change: async (graceSeconds: number) => {
      const path = { organization_id: org, key_id: apiKey.id };
      const { key, api_key: created } = await unwrap(
        api.POST('/dashboard/api/organizations/{organization_id}/keys/{key_id}/rotate', {
          params: { path },
          body: { grace_seconds: graceSeconds },
        }),
      );
      setIssued({ secret: key, id: created.id });
    },
    invalidates: [keysKey(org)],
  });
  useStay(replace.pending && issued === undefined, true);
  if (issued !== undefined) {
    const finish = (): void => {
      onClose();
      void navigate({ to: '/o/$org/keys/$key', params: { org, key: issued.id }, ignoreBlocker: true });
    };
    return (
      <Dialog title="Your new API key" onClose={finish} wide modalOnly>
        <IssuedKey secret={issued.secret} onDone={finish} />
      </Dialog>
    );
  }
  return (
    // Closed before the reply, it would lose the secret.
    <Dialog title={`Replace “${apiKey.name}”`} onClose={onClose} modalOnly={replace.pending}>
      <p className="mb-4 text-muted">
        Creates a key with the same settings and a new secret. Its usage starts at zero. The old key is revoked at the
        end of its grace period.
      </p>
      <ChangeForm
        fields={['grace_seconds']}
        submit="Replace key"
        pending={replace.pending}
        error={replace.error}
        onSubmit={({ grace_seconds: seconds }) => replace.run(Number(seconds))}
        actions={
          <Button disabled={replace.pending} onClick={onClose}>
            Cancel
          </Button>
        }
      >
        <SelectField
          name="grace_seconds"
          label="How long the old key keeps working"
          options={GRACE_PERIODS}
          defaultValue="86400"
        />
      </ChangeForm>
    </Dialog>
  );
}
