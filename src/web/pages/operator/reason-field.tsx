import { TextField } from '../../ui/form';

interface ReasonFieldProps {
  /** As in the body of the request; `reason` when not set. */
  readonly name?: string;
  readonly label?: string;
  readonly autoFocus?: boolean;
}

/** Why an operator changes something of an organization, for its audit log. */
export function ReasonField({ name = 'reason', label = 'Reason', autoFocus }: ReasonFieldProps) {
  return (
    <TextField
      name={name}
      label={label}
      hint="Recorded in the audit log, which the organization can read."
      required
      maxLength={500}
      autoFocus={autoFocus}
    />
  );
}
