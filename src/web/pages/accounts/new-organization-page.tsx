import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { api, unwrap } from '../../api/client';
import { currentUserQuery } from '../../api/session';
import { Card } from '../../ui/card';
import { ChangeForm, TextField } from '../../ui/form';
import { PageHeader } from '../../ui/page-header';
import { useChange } from '../../ui/use-change';

/** Creates an organization with the user as its owner, and opens it. */
export function NewOrganizationPage() {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const create = useChange({
    change: async (name: string) => {
      const { id } = await unwrap(api.POST('/dashboard/api/organizations', { body: { name } }));
      // Its pages open only to members, and the cached user is none yet.
      await queries.fetchQuery({ ...currentUserQuery, staleTime: 0 });
      return id;
    },
    onDone: (org) => void navigate({ to: '/o/$org', params: { org } }),
  });
  return (
    <div className="max-w-xl">
      <PageHeader
        title="New organization"
        description="An organization has its own API keys, balance and members. You become its owner."
      />
      <Card>
        <ChangeForm
          fields={['name']}
          submit="Create organization"
          pending={create.pending}
          error={create.error}
          onSubmit={({ name = '' }) => create.run(name)}
        >
          <TextField name="name" label="Name" required maxLength={200} autoComplete="organization" autoFocus />
        </ChangeForm>
      </Card>
    </div>
  );
}
