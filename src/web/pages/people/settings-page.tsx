import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { Organization } from '../../../contract/dashboard';
import { api, unwrap } from '../../api/client';
import { organizationQuery } from '../../api/organizations';
import { currentUserQuery } from '../../api/session';
import { useNotice } from '../../app/notices';
import { setPreferences } from '../../app/preferences';
import { useOrganization } from '../../app/use-session';
import { formatCount } from '../../format/count';
import { Badge } from '../../ui/badge';
import { Button } from '../../ui/button';
import { Card, Facts } from '../../ui/card';
import { ConfirmDialog } from '../../ui/confirm-dialog';
import { CopyButton } from '../../ui/copy-button';
import { ChangeForm, TextField } from '../../ui/form';
import { Moment } from '../../ui/moment';
import { PageHeader } from '../../ui/page-header';
import { QueryView } from '../../ui/query-view';
import { useChange } from '../../ui/use-change';
import { useTypedText } from '../../ui/use-typed-text';

/** Name, limits and identity of an organization, and leaving it. */
export function SettingsPage() {
  const { id, may } = useOrganization();
  const query = useQuery(organizationQuery(id));
  return (
    <>
      <PageHeader title="Settings" />
      <QueryView query={query}>
        {(organization) => (
          <div className="grid max-w-5xl gap-4 lg:grid-cols-2">
            <Card title="Organization">
              <div className="space-y-5">
                {may('admin') && <NameForm organization={organization} />}
                <Facts
                  facts={[
                    ['Name', may('admin') ? null : organization.name],
                    ['ID', <Identifier key="id" id={id} />],
                    [
                      'State',
                      <Badge key="state" tone={organization.status === 'active' ? 'good' : 'bad'}>
                        {organization.status}
                      </Badge>,
                    ],
                    ['Your role', organization.role],
                    ['Created', <Moment key="created" time={organization.created_at} zoned />],
                  ]}
                />
              </div>
            </Card>
            <Card title="Limits" description="For all API keys together, set by the operator of this service.">
              <Facts facts={limitsOf(organization)} />
            </Card>
            <LeaveCard organization={organization} />
          </div>
        )}
      </QueryView>
    </>
  );
}

function Identifier({ id }: { readonly id: string }) {
  return (
    <span className="flex items-center gap-1">
      <span className="font-mono text-[0.8125rem]">{id}</span>
      <CopyButton text={id} object="organization id" />
    </span>
  );
}

const limitText = (limit: number | null): string => (limit === null ? 'no limit' : formatCount(limit));

function limitsOf(organization: Organization): ReadonlyArray<readonly [string, string]> {
  return [
    ['Requests per second', limitText(organization.requests_per_second)],
    ['Requests per minute', limitText(organization.requests_per_minute)],
    ['Tokens per minute', limitText(organization.tokens_per_minute)],
    ['Requests in flight', limitText(organization.concurrency)],
    ['API keys', limitText(organization.max_api_keys)],
  ];
}

function NameForm({ organization: { id, name } }: { readonly organization: Organization }) {
  const notice = useNotice();
  const typed = useTypedText(name);
  const rename = useChange({
    change: (next: string) =>
      unwrap(
        api.PATCH('/dashboard/api/organizations/{organization_id}', {
          params: { path: { organization_id: id } },
          body: { name: next },
        }),
      ),
    invalidates: [organizationQuery(id).queryKey, currentUserQuery.queryKey],
    onDone: () => notice('Name saved'),
  });
  return (
    <ChangeForm
      fields={['name']}
      submit="Save name"
      pending={rename.pending}
      error={rename.error}
      onSubmit={({ name: next = '' }) => rename.run(next)}
    >
      <TextField name="name" label="Name" required maxLength={200} autoComplete="off" {...typed} />
    </ChangeForm>
  );
}

function LeaveCard({ organization: { id, name } }: { readonly organization: Organization }) {
  const [isLeaving, setLeaving] = useState(false);
  const leave = useChange({
    change: () =>
      unwrap(
        api.POST('/dashboard/api/organizations/{organization_id}/leave', {
          params: { path: { organization_id: id } },
        }),
      ),
    onDone: () => {
      setPreferences({ lastOrganizationId: null });
      // Nothing of the organization stays in memory.
      window.location.assign('/dashboard/');
    },
  });
  return (
    <Card title="Leave" description="API keys that you created keep working. To come back, you need a new invitation.">
      <Button onClick={() => setLeaving(true)}>Leave organization</Button>
      {isLeaving && (
        <ConfirmDialog
          title={`Leave ${name}?`}
          confirm="Leave organization"
          onConfirm={() => leave.run(undefined)}
          onClose={() => setLeaving(false)}
          pending={leave.pending}
          error={leave.error}
        >
          You lose access to its requests, keys and billing at once. The last owner cannot leave.
        </ConfirmDialog>
      )}
    </Card>
  );
}
