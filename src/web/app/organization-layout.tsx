import { useQuery } from '@tanstack/react-query';
import { Outlet, useMatches, useParams } from '@tanstack/react-router';
import { useEffect } from 'react';
import { organizationQuery } from '../api/organizations';
import { mayActAs, membershipOf } from '../api/session';
import { Banner } from '../ui/banner';
import { NeedsRole } from './needs-role';
import { NoSuchPage } from './no-such-page';
import { setPreferences } from './preferences';
import { useCurrentUser } from './use-session';

/** Pages of one organization: shows them to members with the role that the page needs. */
export function OrganizationLayout() {
  const { org } = useParams({ from: '/signed-in/o/$org' });
  const least = useMatches().at(-1)?.staticData.least ?? 'viewer';
  const membership = membershipOf(useCurrentUser(), org);
  const isMember = membership !== undefined;
  const organization = useQuery({ ...organizationQuery(org), enabled: isMember }).data;
  useEffect(() => {
    if (isMember) setPreferences({ lastOrganizationId: org });
  }, [isMember, org]);
  if (membership === undefined) return <NoSuchPage object="organization" />;
  if (least !== 'anyone' && least !== 'user' && least !== 'operator' && !mayActAs(membership.role, least)) {
    return <NeedsRole organizationId={org} least={least} />;
  }
  return (
    <>
      {organization?.status === 'suspended' && (
        <Banner tone="bad" title="This organization is suspended">
          API keys are refused. You can read everything, and disable and revoke keys. Ask the operator of this service
          for the reason.
        </Banner>
      )}
      <Outlet />
    </>
  );
}
