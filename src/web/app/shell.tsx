import { useQuery } from '@tanstack/react-query';
import { useLocation, useParams } from '@tanstack/react-router';
import { lazy, Suspense, useEffect, useState, type ReactNode } from 'react';
import { balanceQuery } from '../api/billing';
import { Amount } from '../ui/amount';
import { Button, ButtonLink } from '../ui/button';
import { Drawer } from '../ui/drawer';
import { MenuIcon, Search } from '../ui/icons';
import { AccountMenu } from './account-menu';
import { Logo } from './logo';
import { Navigation, navigationFor } from './navigation';
import { OrganizationSwitcher } from './organization-switcher';
import { preferences } from './preferences';
import { ShortcutHelp, useShortcuts } from './shortcuts';
import { useCurrentUser } from './use-session';

const CommandPalette = lazy(() =>
  import('./command-palette').then(({ CommandPalette: component }) => ({ default: component })),
);

/** Navigation at the side, organization, search, balance and account at the top, around every page. */
export function Shell({ children }: { readonly children: ReactNode }) {
  const user = useCurrentUser();
  const organizationId = useShownOrganization();
  const groups = navigationFor(user, organizationId);
  const [drawerOpen, setDrawerOpen] = useState(false);
  const { opened, open, close } = useShortcuts(groups, organizationId);
  useEffect(() => {
    const closeAll = (): void => {
      setDrawerOpen(false);
      close();
    };
    // Back and Forward change the page below.
    window.addEventListener('popstate', closeAll);
    return () => window.removeEventListener('popstate', closeAll);
  }, [close]);
  return (
    <div className="min-h-dvh lg:grid lg:grid-cols-[14.5rem_1fr]">
      <aside className="sticky top-0 hidden h-dvh overflow-y-auto border-e bg-surface lg:block">
        <div className="flex h-14 items-center px-5">
          <Brand />
        </div>
        <Navigation groups={groups} organizationId={organizationId} />
      </aside>
      <div className="min-w-0">
        <header className="sticky top-0 z-20 flex h-14 items-center gap-2 border-b bg-surface px-3 sm:px-6">
          <Button
            variant="quiet"
            className="lg:hidden"
            aria-haspopup="dialog"
            aria-expanded={drawerOpen}
            aria-label="Pages"
            onClick={() => setDrawerOpen(true)}
          >
            <MenuIcon size={18} aria-hidden="true" />
          </Button>
          <OrganizationSwitcher user={user} organizationId={organizationId} />
          <div className="grow" />
          <Button variant="quiet" onClick={() => open('palette')}>
            <Search size={16} aria-hidden="true" />
            <span className="sr-only">Search pages and objects</span>
            <kbd className="hidden rounded border px-1 text-xs text-muted sm:inline">Ctrl K</kbd>
          </Button>
          {organizationId !== undefined && <BalanceLink organizationId={organizationId} />}
          <AccountMenu user={user} onShowShortcuts={() => open('shortcuts')} />
        </header>
        <main id="main" tabIndex={-1} className="mx-auto w-full max-w-screen-2xl px-4 py-6 sm:px-6">
          {children}
        </main>
      </div>
      {drawerOpen && (
        <Drawer label="Pages" head={<Brand />} onClose={() => setDrawerOpen(false)}>
          <Navigation groups={groups} organizationId={organizationId} onOpen={() => setDrawerOpen(false)} />
        </Drawer>
      )}
      {opened === 'palette' && (
        <Suspense fallback={null}>
          <CommandPalette groups={groups} organizationId={organizationId} onClose={close} />
        </Suspense>
      )}
      {opened === 'shortcuts' && <ShortcutHelp groups={groups} onClose={close} />}
    </div>
  );
}

function Brand() {
  return (
    <span className="flex items-center gap-2 font-semibold">
      <Logo /> Gateway
    </span>
  );
}

/** The organization in the path, else the last one, so that the navigation stays on pages of the account. */
function useShownOrganization(): string | undefined {
  const { org } = useParams({ strict: false });
  const user = useCurrentUser();
  const isOperatorPage = useLocation().pathname.startsWith('/operator');
  const candidates = [
    isOperatorPage ? undefined : org,
    preferences().lastOrganizationId,
    user.memberships[0]?.organization_id,
  ];
  return candidates.find((id) => user.memberships.some(({ organization_id }) => organization_id === id)) ?? undefined;
}

function BalanceLink({ organizationId }: { readonly organizationId: string }) {
  const balance = useQuery(balanceQuery(organizationId)).data;
  if (balance === undefined) return null;
  return (
    <ButtonLink variant="quiet" to="/o/$org/billing" params={{ org: organizationId }} className="max-sm:hidden">
      <span className="sr-only">Available balance</span>
      <Amount micro={balance.available_micro} large />
    </ButtonLink>
  );
}
