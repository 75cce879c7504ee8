import { useNavigate } from '@tanstack/react-router';
import { api, unwrap } from '../../api/client';
import { useNotice } from '../../app/notices';
import { useOrganization } from '../../app/use-session';
import { Button } from '../../ui/button';
import { Dialog } from '../../ui/dialog';
import { ChangeForm, TextField } from '../../ui/form';
import { useChange } from '../../ui/use-change';

/** Sends a test event, then shows its delivery. */
export function SendTest({ onClose }: { readonly onClose: () => void }) {
  const { id: org } = useOrganization();
  const navigate = useNavigate();
  const notice = useNotice();
  const test = useChange({
    change: (url: string) =>
      unwrap(
        api.POST('/dashboard/api/organizations/{organization_id}/webhook-test-events', {
          params: { path: { organization_id: org } },
          body: { url },
        }),
      ),
    invalidates: [['organization', org, 'webhooks']],
    onDone: ({ id }) => {
      onClose();
      notice('Test sent');
      void navigate({ to: '/o/$org/webhooks/$delivery', params: { org, delivery: id } });
    },
  });
  return (
    <Dialog title="Send a test event" onClose={onClose}>
      <ChangeForm
        fields={['url']}
        submit="Send"
        pending={test.pending}
        error={test.error}
        actions={<Button onClick={onClose}>Cancel</Button>}
        onSubmit={({ url = '' }) => test.run(url)}
      >
        <TextField
          name="url"
          label="Receiver URL"
          type="url"
          required
          pattern="https://.+"
          title="An address that begins with https://"
          placeholder="https://example.com/webhooks"
          hint="It receives a webhook.test event, signed and retried like any other. At most ten tests a minute."
          autoFocus
        />
      </ChangeForm>
    </Dialog>
  );
}
