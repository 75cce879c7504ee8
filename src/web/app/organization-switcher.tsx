import { Link } from '@tanstack/react-router';
import type { CurrentUser } from '../api/session';
import { Check, ChevronsUpDown, Plus } from '../ui/icons';
import { Menu, MenuItem, MenuSeparator } from '../ui/menu';

interface OrganizationSwitcherProps {
  readonly user: CurrentUser;
  readonly organizationId: string | undefined;
}

export function OrganizationSwitcher({ user, organizationId }: OrganizationSwitcherProps) {
  const current = user.memberships.find(({ organization_id }) => organization_id === organizationId);
  return (
    <Menu
      label={current === undefined ? 'Organization' : `Organization: ${current.name}`}
      triggerClassName="min-w-0 font-medium"
      trigger={
        <>
          <span className="truncate">{current?.name ?? 'No organization'}</span>
          <ChevronsUpDown size={14} aria-hidden="true" className="shrink-0 text-muted" />
        </>
      }
    >
      {user.memberships.map(({ organization_id: id, name, role }) => (
        <MenuItem key={id} render={<Link to="/o/$org" params={{ org: id }} />}>
          <Check size={14} aria-hidden="true" className={id === organizationId ? '' : 'invisible'} />
          <span className="max-w-64 truncate" title={name}>
            {name}
          </span>
          <span className="ms-auto ps-4 text-muted">{role}</span>
        </MenuItem>
      ))}
      <MenuSeparator />
      <MenuItem render={<Link to="/organizations/new" />}>
        <Plus size={14} aria-hidden="true" /> New organization
      </MenuItem>
    </Menu>
  );
}
