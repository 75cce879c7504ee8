import { useState } from 'react';
import { landingFragment } from '../../app/fragment';
import { TextField } from '../../ui/form';

/** The token of the link in a mail, or null when the page was opened without one. */
export function landingToken(): string | null {
  const token = landingFragment().get('token');
  return token === '' ? null : token;
}

/** The token of the link; without one, a field for the code in the mail. */
export function useMailedToken() {
  const [linked] = useState(landingToken);
  return {
    isLinked: linked !== null,
    tokenOf: (values: Readonly<Record<string, string>>): string => linked ?? (values.token ?? '').trim(),
    field:
      linked === null ? (
        <TextField
          name="token"
          label="Code"
          hint="It is below the link in the mail."
          required
          maxLength={200}
          autoComplete="one-time-code"
          autoCapitalize="none"
          spellCheck={false}
          autoFocus
        />
      ) : null,
  };
}
