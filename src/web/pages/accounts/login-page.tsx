import { useQueryClient } from '@tanstack/react-query';
import { Link, useRouter, useSearch } from '@tanstack/react-router';
import { useEffect, useRef, useState } from 'react';
import { api, unwrap } from '../../api/client';
import { announceSignIn } from '../../api/sign-in';
import { isApiError } from '../../api/errors';
import { landingFragment } from '../../app/fragment';
import { forgetDraftsOfOthers } from '../../app/drafts';
import { sessionStartedBy } from '../../app/session-state';
import { Button } from '../../ui/button';
import { ChangeForm, TextField } from '../../ui/form';
import { PageHeader } from '../../ui/page-header';
import { useChange } from '../../ui/use-change';

/** Signs in. A link may fill in the form through its fragment, but never signs in by itself. */
export function LoginPage() {
  const { next } = useSearch({ from: '/visitor/login' });
  const filled = landingFragment();
  const router = useRouter();
  const queries = useQueryClient();
  const [email, setEmail] = useState('');
  const signIn = useChange({
    change: (body: { email: string; password: string }) => unwrap(api.POST('/dashboard/api/login', { body })),
    onDone: ({ user }) => {
      sessionStartedBy(user.id);
      forgetDraftsOfOthers(user.id);
      queries.clear();
      announceSignIn();
      router.history.replace(`/dashboard${next ?? '/'}`);
    },
  });
  const isPrefilled = filled.has('password');
  const button = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (isPrefilled) button.current?.querySelector<HTMLElement>('button[type="submit"]')?.focus();
  }, [isPrefilled]);
  return (
    <>
      <PageHeader title="Sign in" />
      <div ref={button}>
        <ChangeForm
          fields={['email', 'password']}
          submit="Sign in"
          pending={signIn.pending}
          error={signIn.error}
          onSubmit={(values) => {
            setEmail(values.email ?? '');
            signIn.run({ email: values.email ?? '', password: values.password ?? '' });
          }}
        >
          <TextField
            name="email"
            label="E-mail"
            type="email"
            required
            autoComplete="username"
            defaultValue={filled.get('email') ?? ''}
            autoFocus={!isPrefilled}
          />
          <TextField
            name="password"
            label="Password"
            type="password"
            required
            autoComplete="current-password"
            defaultValue={filled.get('password') ?? ''}
          />
        </ChangeForm>
      </div>
      {isApiError(signIn.error, 'email_not_verified') && <AnotherMail email={email} />}
      <p className="mt-6 flex flex-wrap justify-between gap-3 text-muted">
        <Link to="/forgot-password" className="link">
          Forgot your password?
        </Link>
        <Link to="/register" className="link">
          Create an account
        </Link>
      </p>
    </>
  );
}

function AnotherMail({ email }: { readonly email: string }) {
  const request = useChange({
    change: () => unwrap(api.POST('/dashboard/api/email-verifications', { body: { email } })),
  });
  if (request.result !== undefined) return <p role="status">We have sent a new mail to {email}.</p>;
  return (
    <Button className="mt-3" pending={request.pending} onClick={() => request.run(undefined)}>
      Send the confirmation mail again
    </Button>
  );
}
