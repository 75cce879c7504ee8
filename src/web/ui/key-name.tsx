import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { keyChoicesQuery } from '../api/key-choices';
import { useOrganization } from '../app/use-session';

/** A link to an API key. Revoked keys have no name here, only the start of their id. */
export function KeyName({ keyId }: { readonly keyId: string }) {
  const { id: organizationId } = useOrganization();
  const keys = useQuery(keyChoicesQuery(organizationId)).data;
  const name = keys?.find(({ id }) => id === keyId)?.name;
  return (
    <Link
      to="/o/$org/keys/$key"
      params={{ org: organizationId, key: keyId }}
      title={name ?? keyId}
      className="link relative inline-block max-w-48 truncate align-bottom"
    >
      {name ?? `${keyId.slice(0, 8)}…`}
    </Link>
  );
}
