import type { Role } from '../api/session';
import { useOrganization } from '../app/use-session';
import { Button, type ButtonProps } from './button';

interface RoleButtonProps extends ButtonProps {
  readonly least: Role;
}

/** The main action of a page. Members without the role see that it exists and which role it needs. */
export function RoleButton({ least, children, ...button }: RoleButtonProps) {
  const allowed = useOrganization().may(least);
  return (
    <Button variant="primary" {...button} disabled={!allowed || button.disabled}>
      {children}
      {!allowed && <span className="font-normal">(needs {least})</span>}
    </Button>
  );
}
