import { queryOptions, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import type { InvitationPreview } from '../../../contract/dashboard';
import { api, unwrap } from '../../api/client';
import { isApiError } from '../../api/errors';
import { currentUserQuery, type CurrentUser } from '../../api/session';
import { ErrorText } from '../../app/failure-view';
import { preferences } from '../../app/preferences';
import { sessionEndedByUser } from '../../app/session-state';
import { Banner } from '../../ui/banner';
import { Button, ButtonLink } from '../../ui/button';
import { ChangeForm } from '../../ui/form';
import { Ago } from '../../ui/moment';
import { PageHeader } from '../../ui/page-header';
import { QueryView } from '../../ui/query-view';
import { useChange } from '../../ui/use-change';
import { holdInvitation } from './invitation-token';
import { landingToken, useMailedToken } from './mailed-token';

/** The token is no part of the key: nothing that is kept contains it. */
const previewQuery = (token: string) =>
  queryOptions({
    queryKey: ['invitation'],
    queryFn: ({ signal }) => unwrap(api.POST('/dashboard/api/invitations/preview', { body: { token }, signal })),
    retry: false,
    staleTime: Infinity,
    gcTime: 0,
  });

/** What an invitation offers, and accepting it with the account that was invited. */
export function AcceptInvitationPage() {
  const [token, setToken] = useState(landingToken);
  return token === null ? <CodeForm onEnter={setToken} /> : <Invitation token={token} />;
}

function CodeForm({ onEnter }: { readonly onEnter: (token: string) => void }) {
  const { tokenOf, field } = useMailedToken();
  return (
    <>
      <PageHeader title="Accept your invitation" description="Open the link in the mail, or enter its code." />
      <ChangeForm
        fields={['token']}
        submit="Continue"
        pending={false}
        error={null}
        onSubmit={(values) => onEnter(tokenOf(values))}
      >
        {field}
      </ChangeForm>
    </>
  );
}

function Invitation({ token }: { readonly token: string }) {
  const query = useQuery(previewQuery(token));
  const accept = useAccept(token);
  if ([query.error, accept.error].some((error) => isApiError(error, 'not_found'))) return <InvitationIsOver />;
  return (
    <QueryView query={query}>
      {(invitation) => (
        <>
          <PageHeader title={`Join ${invitation.organization_name}`} />
          <Offer invitation={invitation} />
          <Answer token={token} invitation={invitation} accept={accept} />
        </>
      )}
    </QueryView>
  );
}

function Offer({
  invitation: { invited_by: inviter, role, email, expires_at: expires },
}: {
  invitation: InvitationPreview;
}) {
  return (
    <p className="mb-5">
      {inviter === null ? 'The operator of this service' : `${inviter.name} (${inviter.email})`} invites{' '}
      <span className="font-medium wrap-anywhere">{email}</span> as <span className="font-medium">{role}</span>. The
      invitation expires <Ago time={expires} />.
    </p>
  );
}

interface AnswerProps {
  readonly token: string;
  readonly invitation: InvitationPreview;
  readonly accept: Accept;
}

function Answer({ token, invitation, accept }: AnswerProps) {
  const user = useQuery({ ...currentUserQuery, enabled: preferences().signedIn, retry: false });
  if (user.isLoading) return null;
  if (user.data === undefined) return <SignInFirst token={token} email={invitation.email} />;
  const isInvited = user.data.email.toLowerCase() === invitation.email.toLowerCase();
  return isInvited ? <AcceptButton accept={accept} /> : <OtherAccount token={token} user={user.data} />;
}

function SignInFirst({ token, email }: { readonly token: string; readonly email: string }) {
  return (
    <div className="flex flex-wrap gap-2">
      <ButtonLink variant="primary" to="/login" search={{ next: '/accept-invitation' }}>
        Sign in
      </ButtonLink>
      <ButtonLink to="/register" onClick={() => holdInvitation({ token, email })}>
        Create an account
      </ButtonLink>
    </div>
  );
}

type Accept = ReturnType<typeof useAccept>;

function useAccept(token: string) {
  const queries = useQueryClient();
  const navigate = useNavigate();
  return useChange({
    change: async () => {
      const organization = await unwrap(api.POST('/dashboard/api/invitations/accept', { body: { token } }));
      // Its pages open only to members, and the cached user is none yet.
      await queries.fetchQuery({ ...currentUserQuery, staleTime: 0 });
      return organization.id;
    },
    onDone: (org) => void navigate({ to: '/o/$org', params: { org } }),
  });
}

function AcceptButton({ accept }: { readonly accept: Accept }) {
  return (
    <>
      {accept.error !== null && (
        <Banner tone="bad" role="alert">
          <ErrorText error={accept.error} />
        </Banner>
      )}
      <Button variant="primary" pending={accept.pending} onClick={() => accept.run(undefined)}>
        Accept invitation
      </Button>
    </>
  );
}

function OtherAccount({ token, user }: { readonly token: string; readonly user: CurrentUser }) {
  const signOut = useChange({
    change: () => unwrap(api.POST('/dashboard/api/logout')),
    // The link again: what was in memory goes with the user.
    onDone: () => sessionEndedByUser(`/dashboard/accept-invitation#${new URLSearchParams({ token })}`),
  });
  return (
    <>
      <Banner tone="warn" title="This invitation is not for you">
        You are signed in as {user.email}. Only the invited address can accept.
      </Banner>
      {signOut.error !== null && (
        <Banner tone="bad" role="alert">
          <ErrorText error={signOut.error} />
        </Banner>
      )}
      <div className="flex flex-wrap gap-2">
        <Button variant="primary" pending={signOut.pending} onClick={() => signOut.run(undefined)}>
          Sign out and use another account
        </Button>
        <ButtonLink to="/">Stay signed in</ButtonLink>
      </div>
    </>
  );
}

function InvitationIsOver() {
  return (
    <>
      <PageHeader title="This invitation no longer works" />
      <p role="alert" className="mb-4">
        It has been used, withdrawn or replaced by a newer one, or it is more than seven days old. If you have accepted
        it, sign in; otherwise ask the sender for a new one.
      </p>
      <ButtonLink to="/">Go to the start page</ButtonLink>
    </>
  );
}
