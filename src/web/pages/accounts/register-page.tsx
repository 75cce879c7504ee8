import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { RegistrationRequest } from '../../../contract/dashboard';
import { aboutQuery } from '../../api/about';
import { api, unwrap } from '../../api/client';
import { wantHeadingFocus } from '../../app/heading-focus';
import { Button } from '../../ui/button';
import { ChangeForm, TextField } from '../../ui/form';
import { PageHeader } from '../../ui/page-header';
import { useChange } from '../../ui/use-change';
import { invitedWith } from './invitation-token';
import { MailNote } from './mail-note';
import { NewPasswordField } from './password-field';
import { SignInLink } from './sign-in-link';

/** Registers an account; one that was invited keeps the token of its invitation. */
export function RegisterPage() {
  const about = useQuery(aboutQuery).data;
  const invitation = invitedWith();
  const register = useChange({
    change: async (body: RegistrationRequest) => {
      await unwrap(api.POST('/dashboard/api/register', { body }));
      return body.email;
    },
    onDone: wantHeadingFocus,
  });
  if (register.result !== undefined) return <Registered email={register.result} isInvited={invitation !== null} />;
  return (
    <>
      <PageHeader title="Register" />
      <MailNote />
      <ChangeForm
        fields={['name', 'email', 'password', 'organization_name']}
        submit="Create account"
        pending={register.pending}
        error={register.error}
        disabled={about?.registration === false}
        onSubmit={({ name = '', email = '', password = '', organization_name: organization = '' }) =>
          register.run({
            name,
            email,
            password,
            organization_name: organization.trim() === '' ? null : organization,
            invitation_token: invitation?.token ?? null,
          })
        }
      >
        <TextField name="name" label="Your name" required maxLength={200} autoComplete="name" autoFocus />
        <TextField
          name="email"
          label="E-mail"
          type="email"
          required
          maxLength={254}
          autoComplete="username"
          defaultValue={invitation?.email ?? ''}
        />
        <NewPasswordField name="password" label="Password" />
        {invitation === null && (
          <TextField
            name="organization_name"
            label="Organization (optional)"
            hint="You become its owner. If you leave this empty, it is named after you."
            maxLength={200}
            autoComplete="organization"
          />
        )}
      </ChangeForm>
      <p className="mt-6 text-muted">
        <Link to="/login" search={{}} className="link">
          I already have an account
        </Link>
      </p>
    </>
  );
}

interface RegisteredProps {
  readonly email: string;
  readonly isInvited: boolean;
}

/** The same for every address, so that it does not reveal which have accounts. */
function Registered({ email, isInvited }: RegisteredProps) {
  const again = useChange({
    change: () => unwrap(api.POST('/dashboard/api/email-verifications', { body: { email } })),
  });
  return (
    <>
      <PageHeader title={isInvited ? 'Account created' : 'Check your mail'} />
      <div className="space-y-4">
        {isInvited ? (
          <>
            <p>
              If you registered with the invited address, you can sign in now. For any other address we have sent a mail
              to <span className="font-medium wrap-anywhere">{email}</span>.
            </p>
            <SignInLink email={email} />
          </>
        ) : (
          <>
            <p>
              We have sent a mail to <span className="font-medium wrap-anywhere">{email}</span>. Open its link within 24
              hours, or{' '}
              <Link to="/verify-email" className="link">
                enter its code
              </Link>
              .
            </p>
            <MailNote />
            <Button pending={again.pending} onClick={() => again.run(undefined)}>
              Send the mail again
            </Button>
            <p role="status" className="text-muted">
              {again.result !== undefined && 'We have sent another mail. Only its link works now.'}
              {again.error?.message}
            </p>
          </>
        )}
      </div>
    </>
  );
}
