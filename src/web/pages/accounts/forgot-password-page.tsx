import { Link } from '@tanstack/react-router';
import { api, unwrap } from '../../api/client';
import { wantHeadingFocus } from '../../app/heading-focus';
import { ChangeForm, TextField } from '../../ui/form';
import { PageHeader } from '../../ui/page-header';
import { useChange } from '../../ui/use-change';
import { MailNote } from './mail-note';

/** Asks for a mail that resets the password; the answer is the same for every address. */
export function ForgotPasswordPage() {
  const request = useChange({
    change: async (email: string) => {
      await unwrap(api.POST('/dashboard/api/password-resets', { body: { email } }));
      return email;
    },
    onDone: wantHeadingFocus,
  });
  if (request.result !== undefined) {
    return (
      <>
        <PageHeader key="done" title="Check your mail" />
        <p className="mb-4">
          If <span className="font-medium wrap-anywhere">{request.result}</span> has an account, we have sent it a mail.
          Open its link within an hour, or{' '}
          <Link to="/reset-password" className="link">
            enter its code
          </Link>
          .
        </p>
        <MailNote />
      </>
    );
  }
  return (
    <>
      <PageHeader title="Forgotten password" description="We will send you a link to set a new one." />
      <MailNote />
      <ChangeForm
        fields={['email']}
        submit="Send the mail"
        pending={request.pending}
        error={request.error}
        onSubmit={({ email = '' }) => request.run(email)}
      >
        <TextField
          name="email"
          label="E-mail"
          type="email"
          required
          maxLength={254}
          autoComplete="username"
          autoFocus
        />
      </ChangeForm>
      <p className="mt-6 text-muted">
        <Link to="/login" search={{}} className="link">
          Back to sign in
        </Link>
      </p>
    </>
  );
}
