import type { CurrentUser } from '../../../contract/dashboard';
import { api, unwrap } from '../../api/client';
import { currentUserQuery } from '../../api/session';
import { useNotice } from '../../app/notices';
import { useCurrentUser } from '../../app/use-session';
import { Card } from '../../ui/card';
import { ChangeForm, TextField } from '../../ui/form';
import { PageHeader } from '../../ui/page-header';
import { useChange } from '../../ui/use-change';
import { useTypedText } from '../../ui/use-typed-text';
import { PasswordCard } from './password-card';
import { PreferencesCard } from './preferences-card';
import { SessionsCard } from './sessions-card';

/** The user's name, password, preferences and sessions. */
export function AccountPage() {
  const user = useCurrentUser();
  return (
    <>
      <PageHeader title="Account" description={`Signed in as ${user.email}`} />
      <div className="grid gap-4 lg:grid-cols-2">
        <div className="space-y-4">
          <NameCard user={user} />
          <PreferencesCard />
        </div>
        <PasswordCard email={user.email} />
      </div>
      <SessionsCard />
    </>
  );
}

function NameCard({ user }: { readonly user: CurrentUser }) {
  const notice = useNotice();
  const typed = useTypedText(user.name);
  const rename = useChange({
    change: (name: string) => unwrap(api.PATCH('/dashboard/api/me', { body: { name } })),
    invalidates: [currentUserQuery.queryKey, ['organization']],
    onDone: () => notice('Name saved'),
  });
  return (
    <Card title="Name" description="Other members of your organizations see it.">
      <ChangeForm
        fields={['name']}
        submit="Save name"
        pending={rename.pending}
        error={rename.error}
        onSubmit={({ name = '' }) => rename.run(name)}
      >
        <TextField name="name" label="Your name" required maxLength={200} autoComplete="name" {...typed} />
      </ChangeForm>
    </Card>
  );
}
