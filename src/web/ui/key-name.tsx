import { Link } from '@tanstack/react-router';
import { useKeyLabels } from '../api/keys';
import { useOrganization } from '../app/use-session';

/** A link to an API key. */
export function KeyName({ keyId }: { readonly keyId: string }) {
  const { id: organizationId } = useOrganization();
  const label = useKeyLabels(organizationId)(keyId);
  return (
    <Link
      to="/o/$org/keys/$key"
      params={{ org: organizationId, key: keyId }}
      title={label}
      className="link relative inline-block max-w-48 truncate align-bottom"
    >
      {label}
    </Link>
  );
}
