import { useState } from 'react';
import type { PasswordChange } from '../../../contract/dashboard';
import { api, unwrap } from '../../api/client';
import { isApiError } from '../../api/errors';
import { useNotice } from '../../app/notices';
import { Card } from '../../ui/card';
import { ChangeForm, TextField } from '../../ui/form';
import { useChange } from '../../ui/use-change';
import { NewPasswordField } from './password-field';

export function PasswordCard({ email }: { readonly email: string }) {
  const notice = useNotice();
  const [times, setTimes] = useState(0);
  const change = useChange({
    change: async (body: PasswordChange) => {
      try {
        await unwrap(api.POST('/dashboard/api/me/password', { body }));
      } catch (error) {
        throw isApiError(error, 'invalid_credentials') ? new Error('The current password is wrong.') : error;
      }
    },
    invalidates: [['sessions']],
    onDone: () => {
      notice('Password changed');
      setTimes(times + 1);
    },
  });
  return (
    <Card title="Password" description="Changing it signs you out everywhere else.">
      <ChangeForm
        key={times}
        fields={['current_password', 'new_password']}
        submit="Change password"
        pending={change.pending}
        error={change.error}
        onSubmit={({ current_password: current = '', new_password: next = '' }) =>
          change.run({ current_password: current, new_password: next })
        }
      >
        <input type="text" hidden readOnly autoComplete="username" value={email} />
        <TextField
          name="current_password"
          label="Current password"
          type="password"
          required
          maxLength={512}
          autoComplete="current-password"
        />
        <NewPasswordField name="new_password" label="New password" />
      </ChangeForm>
    </Card>
  );
}
