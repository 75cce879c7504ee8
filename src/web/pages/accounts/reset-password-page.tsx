import { Link } from '@tanstack/react-router';
import type { PasswordResetConfirmation } from '../../../contract/dashboard';
import { api, unwrap } from '../../api/client';
import { isApiError } from '../../api/errors';
import { wantHeadingFocus } from '../../app/heading-focus';
import { ButtonLink } from '../../ui/button';
import { ChangeForm } from '../../ui/form';
import { PageHeader } from '../../ui/page-header';
import { useChange } from '../../ui/use-change';
import { useMailedToken } from './mailed-token';
import { NewPasswordField } from './password-field';
import { SignInLink } from './sign-in-link';

/** Sets a new password with the token of a mail. */
export function ResetPasswordPage() {
  const { isLinked, tokenOf, field } = useMailedToken();
  const reset = useChange({
    change: async (body: PasswordResetConfirmation) => {
      await unwrap(api.POST('/dashboard/api/password-resets/confirm', { body }));
      return true;
    },
    onDone: wantHeadingFocus,
  });
  if (reset.result === true) {
    return (
      <>
        <PageHeader key="done" title="Password set" />
        <p className="mb-4">All sessions of the account have ended. Sign in with the new password.</p>
        <SignInLink />
      </>
    );
  }
  if (isApiError(reset.error, 'not_found') && isLinked) {
    return (
      <>
        <PageHeader title="This link no longer works" />
        <p role="alert" className="mb-4">
          It has been used or replaced by a newer one, or it is more than an hour old.
        </p>
        <ButtonLink variant="primary" to="/forgot-password">
          Get a new mail
        </ButtonLink>
      </>
    );
  }
  return (
    <>
      <PageHeader
        title="Set a new password"
        description="This ends all sessions of the account, in this and every other browser."
      />
      <ChangeForm
        fields={['token', 'password']}
        submit="Set password"
        pending={reset.pending}
        error={reset.error}
        onSubmit={(values) => reset.run({ token: tokenOf(values), password: values.password ?? '' })}
      >
        {field}
        <NewPasswordField name="password" label="New password" />
      </ChangeForm>
      {!isLinked && (
        <p className="mt-6 text-muted">
          No code?{' '}
          <Link to="/forgot-password" className="link">
            Get a mail
          </Link>
        </p>
      )}
    </>
  );
}
