import { api, unwrap } from '../../api/client';
import { isApiError } from '../../api/errors';
import { wantHeadingFocus } from '../../app/heading-focus';
import { ChangeForm, TextField } from '../../ui/form';
import { PageHeader } from '../../ui/page-header';
import { useChange } from '../../ui/use-change';
import { useMailedToken } from './mailed-token';
import { SignInLink } from './sign-in-link';

/** Confirms an address with the token of a mail. Needs a click, because programs that check mails open links too. */
export function VerifyEmailPage() {
  const { isLinked, tokenOf, field } = useMailedToken();
  const confirm = useChange({
    change: (token: string) => unwrap(api.POST('/dashboard/api/email-verifications/confirm', { body: { token } })),
    onDone: wantHeadingFocus,
  });
  if (confirm.result !== undefined) {
    const { email } = confirm.result;
    return (
      <>
        <PageHeader key="done" title="Address confirmed" />
        <p className="mb-4">
          <span className="font-medium wrap-anywhere">{email}</span> is yours. You can sign in now.
        </p>
        <SignInLink email={email} />
      </>
    );
  }
  if (isApiError(confirm.error, 'not_found') && isLinked) return <LinkIsOver />;
  return (
    <>
      <PageHeader
        title="Confirm your e-mail address"
        description={isLinked ? 'One click, and your account is ready.' : 'Enter the code from the mail.'}
      />
      <ChangeForm
        fields={['token']}
        submit="Confirm my address"
        pending={confirm.pending}
        error={confirm.error}
        onSubmit={(values) => confirm.run(tokenOf(values))}
      >
        {field}
      </ChangeForm>
    </>
  );
}

function LinkIsOver() {
  const request = useChange({
    change: (email: string) => unwrap(api.POST('/dashboard/api/email-verifications', { body: { email } })),
  });
  return (
    <>
      <PageHeader title="This link no longer works" />
      <div className="space-y-4">
        <p role="alert">
          It has been used or replaced by a newer one, or it is more than 24 hours old. If you have already confirmed
          your address, sign in.
        </p>
        <SignInLink />
        <h2 className="pt-2 font-semibold">Or get a new mail</h2>
        {request.result === undefined ? (
          <ChangeForm
            fields={['email']}
            submit="Send a new mail"
            pending={request.pending}
            error={request.error}
            onSubmit={({ email = '' }) => request.run(email)}
          >
            <TextField name="email" label="E-mail" type="email" required maxLength={254} autoComplete="username" />
          </ChangeForm>
        ) : (
          <p role="status">If the address still has to be confirmed, we have sent a new mail.</p>
        )}
      </div>
    </>
  );
}
