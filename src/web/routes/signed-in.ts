import { createRoute, redirect } from '@tanstack/react-router';
import { lazyPage } from './lazy-page';
import { isApiError } from '../api/errors';
import { currentUserQuery } from '../api/session';
import { preferences } from '../app/preferences';
import { isSessionEnded, sessionStarted } from '../app/session-state';
import { rootRoute } from './root';

export const signedInRoute = createRoute({
  getParentRoute: () => rootRoute,
  id: 'signed-in',
  component: lazyPage(() => import('../app/signed-in-layout'), 'SignedInLayout'),
  beforeLoad: async ({ context, location }) => {
    // The router loads the page again after a Back that it refused.
    if (isSessionEnded()) return;
    const signIn = redirect({ to: '/login', search: location.pathname === '/' ? {} : { next: location.href } });
    if (!preferences().signedIn) throw signIn;
    try {
      await context.queries.ensureQueryData(currentUserQuery);
      sessionStarted();
    } catch (error) {
      throw isApiError(error, 'unauthenticated') ? signIn : error;
    }
  },
});
const homeRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: '/',
  staticData: { title: 'Gateway', least: 'user' },
  beforeLoad: async ({ context }) => {
    const user = await context.queries.ensureQueryData(currentUserQuery);
    const last = preferences().lastOrganizationId;
    const membership = user.memberships.find(({ organization_id }) => organization_id === last) ?? user.memberships[0];
    if (membership !== undefined) throw redirect({ to: '/o/$org', params: { org: membership.organization_id } });
    throw redirect({ to: user.is_operator ? '/operator' : '/organizations/new' });
  },
});
const accountRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: 'account',
  staticData: { title: 'Account', least: 'user', reads: ['getCurrentUser', 'listSessions'] },
  component: lazyPage(() => import('../pages/accounts/account-page'), 'AccountPage'),
});
const newOrganizationRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: 'organizations/new',
  staticData: { title: 'New organization', least: 'user' },
  component: lazyPage(() => import('../pages/accounts/new-organization-page'), 'NewOrganizationPage'),
});

/** Pages of every user. */
export const userRoutes = [homeRoute, accountRoute, newOrganizationRoute] as const;
