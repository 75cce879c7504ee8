import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { WebhookSecret } from '../../../contract/dashboard';
import { api, unwrap } from '../../api/client';
import { webhookSecretQuery } from '../../api/webhooks';
import { ErrorText } from '../../app/failure-view';
import { useNotice } from '../../app/notices';
import { useOrganization } from '../../app/use-session';
import { useStay } from '../../app/use-stay';
import { Banner } from '../../ui/banner';
import { Button } from '../../ui/button';
import { Card, Facts } from '../../ui/card';
import { ConfirmDialog } from '../../ui/confirm-dialog';
import { Dialog } from '../../ui/dialog';
import { Moment, TimeHead } from '../../ui/moment';
import { QueryView } from '../../ui/query-view';
import { Secret } from '../../ui/secret';
import { useChange } from '../../ui/use-change';

/** The state of the secret; shows the secret itself once. */
export function WebhookSecretCard() {
  const { id: org } = useOrganization();
  const query = useQuery(webhookSecretQuery(org));
  const [secret, setSecret] = useState<string | null>(null);
  const [rotating, setRotating] = useState(false);
  const reveal = useRevealed('reveal', setSecret);
  useStay(reveal.pending && secret === null, true);
  return (
    <Card title="Secret" description={<TimeHead label="Times" />}>
      <QueryView query={query}>{(state) => <SecretFacts state={state} />}</QueryView>
      {reveal.error !== null && (
        <Banner tone="bad" role="alert">
          <ErrorText error={reveal.error} />
        </Banner>
      )}
      <div className="mt-4 flex flex-wrap gap-2">
        {query.data?.revealed_at === null && (
          <Button variant="primary" pending={reveal.pending} onClick={() => reveal.run(undefined)}>
            Reveal once
          </Button>
        )}
        {query.data?.exists === true && <Button onClick={() => setRotating(true)}>Rotate</Button>}
      </div>
      {rotating && (
        <RotateDialog
          onClose={() => setRotating(false)}
          onRotated={(next) => {
            setRotating(false);
            setSecret(next);
          }}
        />
      )}
      {secret !== null && (
        <Dialog title="Webhook secret" onClose={() => setSecret(null)} modalOnly>
          <Secret value={secret} object="webhook secret" />
          <div className="mt-4">
            <Button onClick={() => setSecret(null)}>Done</Button>
          </div>
        </Dialog>
      )}
    </Card>
  );
}

function SecretFacts({ state: { exists, created_at, revealed_at } }: { readonly state: WebhookSecret }) {
  if (!exists || created_at === null) {
    return <p className="text-muted">No secret yet. It is created when you reveal it, or with the first event.</p>;
  }
  return (
    <>
      <Facts
        facts={[
          ['Created', <Moment key="created" time={created_at} />],
          ['Revealed', revealed_at === null ? 'not yet' : <Moment key="revealed" time={revealed_at} />],
        ]}
      />
      {revealed_at !== null && (
        <p className="mt-3 text-muted">
          It is shown only once. If it is lost, rotate it and give the new one to your receivers.
        </p>
      )}
    </>
  );
}

interface RotateDialogProps {
  readonly onClose: () => void;
  readonly onRotated: (secret: string) => void;
}

function RotateDialog({ onClose, onRotated }: RotateDialogProps) {
  const notice = useNotice();
  const rotate = useRevealed('rotate', (secret) => {
    notice('Secret rotated');
    onRotated(secret);
  });
  useStay(rotate.pending, true);
  return (
    <ConfirmDialog
      title="Rotate the webhook secret?"
      confirm="Rotate"
      pending={rotate.pending}
      error={rotate.error}
      onConfirm={() => rotate.run(undefined)}
      onClose={onClose}
    >
      From now on, all events are signed with the new secret only, including resent ones. Receivers reject events until
      they have it.
    </ConfirmDialog>
  );
}

/** Both operations return a secret that is shown once; it goes to `onSecret` and is not kept in the result. */
function useRevealed(action: 'reveal' | 'rotate', onSecret: (secret: string) => void) {
  const { id: org } = useOrganization();
  const options = { params: { path: { organization_id: org } } };
  return useChange({
    change: async () => {
      const { secret } =
        action === 'reveal'
          ? await unwrap(api.POST('/dashboard/api/organizations/{organization_id}/webhook-secret/reveal', options))
          : await unwrap(api.POST('/dashboard/api/organizations/{organization_id}/webhook-secret/rotate', options));
      onSecret(secret);
    },
    invalidates: [['organization', org, 'webhooks', 'secret']],
  });
}
