import { useQueryClient } from '@tanstack/react-query';
import { api, unwrap } from '../api/client';
import { currentUserQuery } from '../api/session';
import { Dialog } from '../ui/dialog';
import { ChangeForm, TextField } from '../ui/form';
import { useChange } from '../ui/use-change';
import { sessionStartedBy, sessionTakenOver, useSessionState } from './session-state';
import { useCurrentUser } from './use-session';
import { useStay } from './use-stay';

/** Asks to sign in again over the page when the session ended during use; what was typed stays. */
export function SignInAgain() {
  return useSessionState() === 'ended' ? <SignInDialog /> : null;
}

function SignInDialog() {
  const user = useCurrentUser();
  const queries = useQueryClient();
  // Back would leave what was typed below.
  useStay(true, false);
  const signIn = useChange({
    change: (body: { email: string; password: string }) => unwrap(api.POST('/dashboard/api/login', { body })),
    onDone: ({ user: signedIn }) => {
      if (signedIn.id !== user.id) {
        sessionTakenOver(signedIn.id);
        return;
      }
      sessionStartedBy(signedIn.id);
      void queries.refetchQueries({ type: 'active', queryKey: currentUserQuery.queryKey });
      void queries.invalidateQueries();
    },
  });
  return (
    <Dialog title="Your session has ended" onClose={() => undefined} modalOnly>
      <p className="mb-4 text-muted">
        Sign in to continue. What you typed is kept. A change is not sent again automatically.
      </p>
      <ChangeForm
        fields={['email', 'password']}
        submit="Sign in"
        pending={signIn.pending}
        error={signIn.error}
        onSubmit={({ email = '', password = '' }) => signIn.run({ email, password })}
      >
        <TextField
          name="email"
          label="E-mail"
          type="email"
          required
          autoComplete="username"
          defaultValue={user.email}
        />
        <TextField
          name="password"
          label="Password"
          type="password"
          required
          autoComplete="current-password"
          autoFocus
        />
      </ChangeForm>
    </Dialog>
  );
}
