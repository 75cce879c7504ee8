import { TextField } from '../../ui/form';

interface NewPasswordFieldProps {
  readonly name: string;
  readonly label: string;
}

/** A password to choose. Pasting and password managers work as anywhere. */
export function NewPasswordField({ name, label }: NewPasswordFieldProps) {
  return (
    <TextField
      name={name}
      label={label}
      hint="At least 8 characters of any kind; a few words are better than a few symbols."
      type="password"
      required
      minLength={8}
      maxLength={128}
      autoComplete="new-password"
    />
  );
}
