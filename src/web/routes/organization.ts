import { createRoute } from '@tanstack/react-router';
import { lazyPage } from './lazy-page';
import { requestsPageSearch } from '../api/request-search';
import { usageSearch } from '../api/usage-search';
import { textOf } from '../app/search-values';
import { billingSearch } from '../pages/billing/billing-search';
import { explainSearch } from '../pages/explain/explain-search';
import { jobSearch } from '../pages/jobs/job-filters';
import { parseKeyFilter } from '../pages/keys/key-filter';
import { offeredModelsSearch } from '../pages/models/models-search';
import { parseAuditFilter } from '../pages/people/audit-filter';
import { webhookSearch } from '../pages/webhooks/delivery-filters';
import { signedInRoute } from './signed-in';

/** `model`: the model to try. */
const modelSearch = ({ model }: Record<string, unknown>): { readonly model?: string } => ({ model: textOf(model) });

const organizationRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: 'o/$org',
  component: lazyPage(() => import('../app/organization-layout'), 'OrganizationLayout'),
});
const overviewRoute = createRoute({
  getParentRoute: () => organizationRoute,
  path: '/',
  staticData: {
    title: 'Overview',
    least: 'viewer',
    reads: ['getBalance', 'getUsageSeries', 'listRequests', 'listJobs', 'listApiKeys', 'listDashboardModels'],
  },
  component: lazyPage(() => import('../pages/overview/overview-page'), 'OverviewPage'),
});
const usageRoute = createRoute({
  getParentRoute: () => organizationRoute,
  path: 'usage',
  validateSearch: usageSearch,
  staticData: { title: 'Usage', least: 'viewer', reads: ['getUsageSeries', 'listApiKeys'] },
  component: lazyPage(() => import('../pages/usage/usage-page'), 'UsagePage'),
});
const requestsRoute = createRoute({
  getParentRoute: () => organizationRoute,
  path: 'requests',
  validateSearch: requestsPageSearch,
  staticData: { title: 'Requests', least: 'viewer', reads: ['listRequests', 'getUsageSeries', 'listApiKeys'] },
  component: lazyPage(() => import('../pages/requests/requests-page'), 'RequestsPage'),
});
const requestRoute = createRoute({
  getParentRoute: () => organizationRoute,
  path: 'requests/$request',
  staticData: { title: 'Request', least: 'viewer', reads: ['getRequest', 'listApiKeys'] },
  component: lazyPage(() => import('../pages/requests/request-page'), 'RequestPage'),
});
const jobsRoute = createRoute({
  getParentRoute: () => organizationRoute,
  path: 'jobs',
  validateSearch: jobSearch,
  staticData: { title: 'Jobs', least: 'viewer', reads: ['listJobs'] },
  component: lazyPage(() => import('../pages/jobs/jobs-page'), 'JobsPage'),
});
const jobRoute = createRoute({
  getParentRoute: () => organizationRoute,
  path: 'jobs/$job',
  staticData: { title: 'Job', least: 'viewer', reads: ['getOrganizationJob'] },
  component: lazyPage(() => import('../pages/jobs/job-page'), 'JobPage'),
});
const webhooksRoute = createRoute({
  getParentRoute: () => organizationRoute,
  path: 'webhooks',
  validateSearch: webhookSearch,
  staticData: { title: 'Webhooks', least: 'viewer', reads: ['listWebhookDeliveries'] },
  component: lazyPage(() => import('../pages/webhooks/webhooks-page'), 'WebhooksPage'),
});
const deliveryRoute = createRoute({
  getParentRoute: () => organizationRoute,
  path: 'webhooks/$delivery',
  staticData: { title: 'Webhook delivery', least: 'viewer', reads: ['getWebhookDelivery'] },
  component: lazyPage(() => import('../pages/webhooks/delivery-page'), 'DeliveryPage'),
});
const playgroundRoute = createRoute({
  getParentRoute: () => organizationRoute,
  path: 'playground/$kind',
  validateSearch: modelSearch,
  staticData: { title: 'Playground', least: 'viewer', reads: ['listDashboardModels'] },
  component: lazyPage(() => import('../pages/playground/playground-page'), 'PlaygroundPage'),
});
const modelsRoute = createRoute({
  getParentRoute: () => organizationRoute,
  path: 'models',
  validateSearch: offeredModelsSearch,
  staticData: { title: 'Models', least: 'viewer', reads: ['listDashboardModels'] },
  component: lazyPage(() => import('../pages/models/models-page'), 'ModelsPage'),
});
const modelRoute = createRoute({
  getParentRoute: () => organizationRoute,
  path: 'models/$vendor/$name',
  staticData: { title: 'Model', least: 'viewer', reads: ['listDashboardModels', 'getUsageSeries'] },
  component: lazyPage(() => import('../pages/models/model-page'), 'ModelPage'),
});
const keysRoute = createRoute({
  getParentRoute: () => organizationRoute,
  path: 'keys',
  validateSearch: parseKeyFilter,
  staticData: { title: 'API keys', least: 'viewer', reads: ['listApiKeys'] },
  component: lazyPage(() => import('../pages/keys/keys-page'), 'KeysPage'),
});
const keyRoute = createRoute({
  getParentRoute: () => organizationRoute,
  path: 'keys/$key',
  staticData: { title: 'API key', least: 'viewer', reads: ['getApiKey', 'getUsageSeries', 'listRequests'] },
  component: lazyPage(() => import('../pages/keys/key-page'), 'KeyPage'),
});
const explainRoute = createRoute({
  getParentRoute: () => organizationRoute,
  path: 'explain',
  validateSearch: explainSearch,
  staticData: { title: 'Explain', least: 'developer', reads: ['listApiKeys'] },
  component: lazyPage(() => import('../pages/explain/explain-page'), 'ExplainPage'),
});
const billingRoute = createRoute({
  getParentRoute: () => organizationRoute,
  path: 'billing',
  validateSearch: billingSearch,
  staticData: { title: 'Billing', least: 'viewer', reads: ['getBalance'] },
  component: lazyPage(() => import('../pages/billing/billing-page'), 'BillingPage'),
});
const membersRoute = createRoute({
  getParentRoute: () => organizationRoute,
  path: 'members',
  staticData: { title: 'Members', least: 'viewer', reads: ['listMembers'] },
  component: lazyPage(() => import('../pages/people/members-page'), 'MembersPage'),
});
const auditRoute = createRoute({
  getParentRoute: () => organizationRoute,
  path: 'audit',
  validateSearch: parseAuditFilter,
  staticData: { title: 'Audit log', least: 'admin', reads: ['listAuditEntries', 'listMembers', 'listApiKeys'] },
  component: lazyPage(() => import('../pages/people/audit-page'), 'AuditPage'),
});
const settingsRoute = createRoute({
  getParentRoute: () => organizationRoute,
  path: 'settings',
  staticData: { title: 'Settings', least: 'viewer', reads: ['getOrganization'] },
  component: lazyPage(() => import('../pages/people/settings-page'), 'SettingsPage'),
});

/** Pages of an organization, for its members. */
export const organizationRoutes = organizationRoute.addChildren([
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
]);
