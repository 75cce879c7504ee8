import { useQuery } from '@tanstack/react-query';
import { membersQuery } from '../api/organizations';
import type { Role } from '../api/session';
import { PageHeader } from '../ui/page-header';

/** Says who can help a member whose role is too low for the page. */
export function NeedsRole({ organizationId, least }: { readonly organizationId: string; readonly least: Role }) {
  const members = useQuery(membersQuery(organizationId)).data?.data ?? [];
  const helpers = members.filter(({ role }) => role === 'owner' || role === 'admin');
  return (
    <div className="py-10">
      <PageHeader title={`This page needs the role ${least}`} />
      <p className="text-muted">An owner or admin of the organization can change your role:</p>
      <ul className="mt-2">
        {helpers.map(({ user_id, name, email, role }) => (
          <li key={user_id}>
            {name} ({email}), {role}
          </li>
        ))}
      </ul>
    </div>
  );
}
