import type { QueryClient } from '@tanstack/react-query';
import { createRootRouteWithContext, createRoute, lazyRouteComponent, redirect } from '@tanstack/react-router';
import { isApiError } from './api/errors';
import { requestSearch } from './api/request-search';
import { currentUserQuery } from './api/session';
import { usageSearch } from './api/usage-search';
import { sessionStarted } from './app/session-state';
import { preferences } from './app/preferences';
import { NoSuchPage } from './app/no-such-page';
import { RootLayout } from './app/root-layout';
import { VisitorFrame, VisitorLayout } from './app/visitor-layout';
import type { Least, OperationId } from './app/route-rules';
import { billingSearch } from './pages/billing/billing-search';
import { explainSearch } from './pages/explain/explain-search';
import { jobSearch } from './pages/jobs/job-filters';
import { webhookSearch } from './pages/webhooks/delivery-filters';
import {
  credentialsSearch,
  modelsSearch,
  organizationsSearch,
  platformAuditSearch,
  providersSearch,
  usersSearch,
} from './pages/operator/filters';
import { parseKeyFilter } from './pages/keys/key-filter';
import { parseAuditFilter } from './pages/people/audit-filter';
import { offeredModelsSearch } from './pages/models/models-search';

/** The pages: path, least role, title, and the operations that a page reads when it opens. */
declare module '@tanstack/react-router' {
  interface StaticDataRouteOption {
    readonly title?: string;
    readonly least?: Least;
    readonly reads?: readonly OperationId[];
  }
}

const rootRoute = createRootRouteWithContext<{ readonly queries: QueryClient }>()({
  component: RootLayout,
  notFoundComponent: () => (
    <VisitorFrame>
      <NoSuchPage />
    </VisitorFrame>
  ),
});

const visitorRoute = createRoute({ getParentRoute: () => rootRoute, id: 'visitor', component: VisitorLayout });

/** `next`: the path of the dashboard to open after signing in. */
const nextSearch = (search: Record<string, unknown>): { readonly next?: string } =>
  typeof search.next === 'string' && /^\/(?![/\\])/.test(search.next) ? { next: search.next } : {};

const loginRoute = createRoute({
  getParentRoute: () => visitorRoute,
  path: 'login',
  validateSearch: nextSearch,
  staticData: { title: 'Sign in', least: 'anyone' },
  component: lazyRouteComponent(() => import('./pages/accounts/login-page'), 'LoginPage'),
});
const registerRoute = createRoute({
  getParentRoute: () => visitorRoute,
  path: 'register',
  staticData: { title: 'Register', least: 'anyone' },
  component: lazyRouteComponent(() => import('./pages/accounts/register-page'), 'RegisterPage'),
});
const forgotPasswordRoute = createRoute({
  getParentRoute: () => visitorRoute,
  path: 'forgot-password',
  staticData: { title: 'Forgotten password', least: 'anyone' },
  component: lazyRouteComponent(() => import('./pages/accounts/forgot-password-page'), 'ForgotPasswordPage'),
});
const verifyEmailRoute = createRoute({
  getParentRoute: () => visitorRoute,
  path: 'verify-email',
  staticData: { title: 'Confirm your e-mail address', least: 'anyone' },
  component: lazyRouteComponent(() => import('./pages/accounts/verify-email-page'), 'VerifyEmailPage'),
});
const resetPasswordRoute = createRoute({
  getParentRoute: () => visitorRoute,
  path: 'reset-password',
  staticData: { title: 'Set a new password', least: 'anyone' },
  component: lazyRouteComponent(() => import('./pages/accounts/reset-password-page'), 'ResetPasswordPage'),
});
const acceptInvitationRoute = createRoute({
  getParentRoute: () => visitorRoute,
  path: 'accept-invitation',
  staticData: { title: 'Accept your invitation', least: 'anyone' },
  component: lazyRouteComponent(() => import('./pages/accounts/accept-invitation-page'), 'AcceptInvitationPage'),
});

/** `model`: the model to try. */
const modelSearch = ({ model }: Record<string, unknown>): { readonly model?: string } =>
  typeof model === 'string' ? { model } : {};

const signedInRoute = createRoute({
  getParentRoute: () => rootRoute,
  id: 'signed-in',
  component: lazyRouteComponent(() => import('./app/signed-in-layout'), 'SignedInLayout'),
  beforeLoad: async ({ context, location }) => {
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
  component: lazyRouteComponent(() => import('./pages/accounts/account-page'), 'AccountPage'),
});
const newOrganizationRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: 'organizations/new',
  staticData: { title: 'New organization', least: 'user' },
  component: lazyRouteComponent(() => import('./pages/accounts/new-organization-page'), 'NewOrganizationPage'),
});

const organizationRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: 'o/$org',
  component: lazyRouteComponent(() => import('./app/organization-layout'), 'OrganizationLayout'),
});
const overviewRoute = createRoute({
  getParentRoute: () => organizationRoute,
  path: '/',
  staticData: {
    title: 'Overview',
    least: 'viewer',
    reads: ['getBalance', 'getUsageSeries', 'listRequests', 'listJobs', 'listApiKeys', 'listDashboardModels'],
  },
  component: lazyRouteComponent(() => import('./pages/overview/overview-page'), 'OverviewPage'),
});
const usageRoute = createRoute({
  getParentRoute: () => organizationRoute,
  path: 'usage',
  validateSearch: usageSearch,
  staticData: { title: 'Usage', least: 'viewer', reads: ['getUsageSeries', 'listApiKeys'] },
  component: lazyRouteComponent(() => import('./pages/usage/usage-page'), 'UsagePage'),
});
const requestsRoute = createRoute({
  getParentRoute: () => organizationRoute,
  path: 'requests',
  validateSearch: requestSearch,
  staticData: { title: 'Requests', least: 'viewer', reads: ['listRequests', 'getUsageSeries', 'listApiKeys'] },
  component: lazyRouteComponent(() => import('./pages/requests/requests-page'), 'RequestsPage'),
});
const requestRoute = createRoute({
  getParentRoute: () => organizationRoute,
  path: 'requests/$request',
  staticData: { title: 'Request', least: 'viewer', reads: ['getRequest', 'listApiKeys'] },
  component: lazyRouteComponent(() => import('./pages/requests/request-page'), 'RequestPage'),
});
const jobsRoute = createRoute({
  getParentRoute: () => organizationRoute,
  path: 'jobs',
  validateSearch: jobSearch,
  staticData: { title: 'Jobs', least: 'viewer', reads: ['listJobs'] },
  component: lazyRouteComponent(() => import('./pages/jobs/jobs-page'), 'JobsPage'),
});
const jobRoute = createRoute({
  getParentRoute: () => organizationRoute,
  path: 'jobs/$job',
  staticData: { title: 'Job', least: 'viewer', reads: ['getOrganizationJob'] },
  component: lazyRouteComponent(() => import('./pages/jobs/job-page'), 'JobPage'),
});
const webhooksRoute = createRoute({
  getParentRoute: () => organizationRoute,
  path: 'webhooks',
  validateSearch: webhookSearch,
  staticData: { title: 'Webhooks', least: 'viewer', reads: ['listWebhookDeliveries'] },
  component: lazyRouteComponent(() => import('./pages/webhooks/webhooks-page'), 'WebhooksPage'),
});
const deliveryRoute = createRoute({
  getParentRoute: () => organizationRoute,
  path: 'webhooks/$delivery',
  staticData: { title: 'Webhook delivery', least: 'viewer', reads: ['getWebhookDelivery'] },
  component: lazyRouteComponent(() => import('./pages/webhooks/delivery-page'), 'DeliveryPage'),
});
const playgroundRoute = createRoute({
  getParentRoute: () => organizationRoute,
  path: 'playground/$kind',
  validateSearch: modelSearch,
  staticData: { title: 'Playground', least: 'viewer', reads: ['listDashboardModels'] },
  component: lazyRouteComponent(() => import('./pages/playground/playground-page'), 'PlaygroundPage'),
});
const modelsRoute = createRoute({
  getParentRoute: () => organizationRoute,
  path: 'models',
  validateSearch: offeredModelsSearch,
  staticData: { title: 'Models', least: 'viewer', reads: ['listDashboardModels'] },
  component: lazyRouteComponent(() => import('./pages/models/models-page'), 'ModelsPage'),
});
const modelRoute = createRoute({
  getParentRoute: () => organizationRoute,
  path: 'models/$vendor/$name',
  staticData: { title: 'Model', least: 'viewer', reads: ['listDashboardModels', 'getUsageSeries'] },
  component: lazyRouteComponent(() => import('./pages/models/model-page'), 'ModelPage'),
});
const keysRoute = createRoute({
  getParentRoute: () => organizationRoute,
  path: 'keys',
  validateSearch: parseKeyFilter,
  staticData: { title: 'API keys', least: 'viewer', reads: ['listApiKeys'] },
  component: lazyRouteComponent(() => import('./pages/keys/keys-page'), 'KeysPage'),
});
const keyRoute = createRoute({
  getParentRoute: () => organizationRoute,
  path: 'keys/$key',
  staticData: { title: 'API key', least: 'viewer', reads: ['getApiKey', 'getUsageSeries', 'listRequests'] },
  component: lazyRouteComponent(() => import('./pages/keys/key-page'), 'KeyPage'),
});
const explainRoute = createRoute({
  getParentRoute: () => organizationRoute,
  path: 'explain',
  validateSearch: explainSearch,
  staticData: { title: 'Explain', least: 'developer', reads: ['listApiKeys'] },
  component: lazyRouteComponent(() => import('./pages/explain/explain-page'), 'ExplainPage'),
});
const billingRoute = createRoute({
  getParentRoute: () => organizationRoute,
  path: 'billing',
  validateSearch: billingSearch,
  staticData: { title: 'Billing', least: 'viewer', reads: ['getBalance'] },
  component: lazyRouteComponent(() => import('./pages/billing/billing-page'), 'BillingPage'),
});
const membersRoute = createRoute({
  getParentRoute: () => organizationRoute,
  path: 'members',
  staticData: { title: 'Members', least: 'viewer', reads: ['listMembers'] },
  component: lazyRouteComponent(() => import('./pages/people/members-page'), 'MembersPage'),
});
const auditRoute = createRoute({
  getParentRoute: () => organizationRoute,
  path: 'audit',
  validateSearch: parseAuditFilter,
  staticData: { title: 'Audit log', least: 'admin', reads: ['listAuditEntries', 'listMembers'] },
  component: lazyRouteComponent(() => import('./pages/people/audit-page'), 'AuditPage'),
});
const settingsRoute = createRoute({
  getParentRoute: () => organizationRoute,
  path: 'settings',
  staticData: { title: 'Settings', least: 'viewer', reads: ['getOrganization'] },
  component: lazyRouteComponent(() => import('./pages/people/settings-page'), 'SettingsPage'),
});

const operatorRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: 'operator',
  component: lazyRouteComponent(() => import('./app/operator-layout'), 'OperatorLayout'),
});
const platformRoute = createRoute({
  getParentRoute: () => operatorRoute,
  path: '/',
  staticData: {
    title: 'Platform',
    least: 'operator',
    reads: [
      'listInstances',
      'listProviderHealth',
      'listOperatorModels',
      'getLedgerAudit',
      'getOperatorUsageSeries',
      'getOperatorOrganization',
    ],
  },
  component: lazyRouteComponent(() => import('./pages/operator/platform-page'), 'PlatformPage'),
});
const operatorOrganizationsRoute = createRoute({
  getParentRoute: () => operatorRoute,
  path: 'organizations',
  validateSearch: organizationsSearch,
  staticData: { title: 'Organizations', least: 'operator', reads: ['listOperatorOrganizations'] },
  component: lazyRouteComponent(() => import('./pages/operator/organizations-page'), 'OrganizationsPage'),
});
const operatorOrganizationRoute = createRoute({
  getParentRoute: () => operatorRoute,
  path: 'organizations/$org',
  staticData: {
    title: 'Organization',
    least: 'operator',
    reads: ['getOperatorOrganization', 'listOperatorAuditEntries'],
  },
  component: lazyRouteComponent(() => import('./pages/operator/organization-page'), 'OrganizationPage'),
});
const usersRoute = createRoute({
  getParentRoute: () => operatorRoute,
  path: 'users',
  validateSearch: usersSearch,
  staticData: { title: 'Users', least: 'operator', reads: ['listUsers'] },
  component: lazyRouteComponent(() => import('./pages/operator/users-page'), 'UsersPage'),
});
const operatorModelsRoute = createRoute({
  getParentRoute: () => operatorRoute,
  path: 'models',
  validateSearch: modelsSearch,
  staticData: { title: 'Served models', least: 'operator', reads: ['listOperatorModels'] },
  component: lazyRouteComponent(() => import('./pages/operator/served-models-page'), 'ServedModelsPage'),
});
const operatorModelRoute = createRoute({
  getParentRoute: () => operatorRoute,
  path: 'models/$vendor/$name',
  staticData: {
    title: 'Served model',
    least: 'operator',
    reads: ['listOperatorModels', 'listPriceVersions', 'listDeployments', 'listProviderHealth'],
  },
  component: lazyRouteComponent(() => import('./pages/operator/served-model-page'), 'ServedModelPage'),
});
const providersRoute = createRoute({
  getParentRoute: () => operatorRoute,
  path: 'providers',
  validateSearch: providersSearch,
  staticData: { title: 'Providers', least: 'operator', reads: ['listProviderHealth', 'listDeployments'] },
  component: lazyRouteComponent(() => import('./pages/operator/providers-page'), 'ProvidersPage'),
});
const credentialsRoute = createRoute({
  getParentRoute: () => operatorRoute,
  path: 'credentials',
  validateSearch: credentialsSearch,
  staticData: { title: 'Credentials', least: 'operator', reads: ['listCredentials', 'listProviderInstances'] },
  component: lazyRouteComponent(() => import('./pages/operator/credentials-page'), 'CredentialsPage'),
});
const platformAuditRoute = createRoute({
  getParentRoute: () => operatorRoute,
  path: 'audit',
  validateSearch: platformAuditSearch,
  staticData: {
    title: 'Changes',
    least: 'operator',
    reads: ['listOperatorAuditEntries', 'getOperatorOrganization'],
  },
  component: lazyRouteComponent(() => import('./pages/operator/platform-audit-page'), 'PlatformAuditPage'),
});
const instancesRoute = createRoute({
  getParentRoute: () => operatorRoute,
  path: 'instances',
  staticData: { title: 'Instances', least: 'operator', reads: ['listInstances'] },
  component: lazyRouteComponent(() => import('./pages/operator/instances-page'), 'InstancesPage'),
});

export const routeTree = rootRoute.addChildren([
  visitorRoute.addChildren([
    loginRoute,
    registerRoute,
    forgotPasswordRoute,
    verifyEmailRoute,
    resetPasswordRoute,
    acceptInvitationRoute,
  ]),
  signedInRoute.addChildren([
    homeRoute,
    accountRoute,
    newOrganizationRoute,
    organizationRoute.addChildren([
      overviewRoute,
      usageRoute,
      requestsRoute,
      requestRoute,
      jobsRoute,
      jobRoute,
      webhooksRoute,
      deliveryRoute,
      playgroundRoute,
      modelsRoute,
      modelRoute,
      keysRoute,
      keyRoute,
      explainRoute,
      billingRoute,
      membersRoute,
      auditRoute,
      settingsRoute,
    ]),
    operatorRoute.addChildren([
      platformRoute,
      operatorOrganizationsRoute,
      operatorOrganizationRoute,
      usersRoute,
      operatorModelsRoute,
      operatorModelRoute,
      providersRoute,
      credentialsRoute,
      platformAuditRoute,
      instancesRoute,
    ]),
  ]),
]);
