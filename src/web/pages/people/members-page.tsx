import { useInfiniteQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { memberPagesQuery } from '../../api/people';
import { useOrganization } from '../../app/use-session';
import { Card, Facts } from '../../ui/card';
import { UserPlus } from '../../ui/icons';
import { PageHeader } from '../../ui/page-header';
import { LoadMore } from '../../ui/pager';
import { QueryView } from '../../ui/query-view';
import { RoleButton } from '../../ui/role-button';
import { InvitationsCard } from './invitations-card';
import { InviteDialog } from './invite-dialog';
import { MembersTable } from './members-table';
import { ROLES, ROLE_TEXTS } from './roles';

/** Members, their roles, and open invitations. */
export function MembersPage() {
  const { id, may } = useOrganization();
  const query = useInfiniteQuery(memberPagesQuery(id));
  const [isInviting, setInviting] = useState(false);
  return (
    <>
      <PageHeader
        title="Members"
        description="Who has access to this organization."
        actions={
          <RoleButton least="admin" onClick={() => setInviting(true)}>
            <UserPlus size={16} aria-hidden="true" /> Invite member
          </RoleButton>
        }
      />
      <div className="space-y-4">
        <Card flush title="Members">
          <QueryView query={query}>
            {({ pages }) => (
              <>
                <MembersTable members={pages.flatMap(({ data }) => data)} />
                <LoadMore query={query} />
              </>
            )}
          </QueryView>
        </Card>
        {may('admin') && <InvitationsCard />}
        <Card title="Roles" description="Each role includes those before it.">
          <Facts facts={ROLES.map((role) => [role, ROLE_TEXTS[role]])} />
        </Card>
      </div>
      {isInviting && <InviteDialog onClose={() => setInviting(false)} />}
    </>
  );
}
