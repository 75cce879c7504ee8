import { ButtonAnchor } from '../../ui/button';

/** Opens the sign-in page with the e-mail filled in. Loads it anew: the fragment leaves no trace in the history. */
export function SignInLink({ email }: { readonly email?: string }) {
  const fragment = email === undefined ? '' : `#${new URLSearchParams({ email })}`;
  return (
    <ButtonAnchor variant="primary" href={`/dashboard/login${fragment}`}>
      Sign in
    </ButtonAnchor>
  );
}
