import { createRoute } from '@tanstack/react-router';
import { lazyPage } from './lazy-page';
import {
  credentialsSearch,
  modelsSearch,
  organizationsSearch,
  platformAuditSearch,
  providersSearch,
  usersSearch,
} from '../pages/operator/filters';
import { signedInRoute } from './signed-in';

const operatorRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: 'operator',
  component: lazyPage(() => import('../app/operator-layout'), 'OperatorLayout'),
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
      'getOperatorJobSummary',
      'getLedgerAudit',
      'getOperatorUsageSeries',
      'getOperatorOrganization',
      'listOperatorPurchases',
    ],
  },
  component: lazyPage(() => import('../pages/operator/platform-page'), 'PlatformPage'),
});
const operatorOrganizationsRoute = createRoute({
  getParentRoute: () => operatorRoute,
  path: 'organizations',
  validateSearch: organizationsSearch,
  staticData: { title: 'Organizations', least: 'operator', reads: ['listOperatorOrganizations'] },
  component: lazyPage(() => import('../pages/operator/organizations-page'), 'OrganizationsPage'),
});
const operatorOrganizationRoute = createRoute({
  getParentRoute: () => operatorRoute,
  path: 'organizations/$org',
  staticData: {
    title: 'Organization',
    least: 'operator',
    reads: [
      'getOperatorOrganization',
      'listOperatorAuditEntries',
      'listOperatorMembers',
      'listOperatorApiKeys',
      'listOperatorOrganizationPurchases',
    ],
  },
  component: lazyPage(() => import('../pages/operator/organization-page'), 'OrganizationPage'),
});
const usersRoute = createRoute({
  getParentRoute: () => operatorRoute,
  path: 'users',
  validateSearch: usersSearch,
  staticData: { title: 'Users', least: 'operator', reads: ['listUsers'] },
  component: lazyPage(() => import('../pages/operator/users-page'), 'UsersPage'),
});
const operatorModelsRoute = createRoute({
  getParentRoute: () => operatorRoute,
  path: 'models',
  validateSearch: modelsSearch,
  staticData: { title: 'Served models', least: 'operator', reads: ['listOperatorModels'] },
  component: lazyPage(() => import('../pages/operator/served-models-page'), 'ServedModelsPage'),
});
const operatorModelRoute = createRoute({
  getParentRoute: () => operatorRoute,
  path: 'models/$vendor/$name',
  staticData: {
    title: 'Served model',
    least: 'operator',
    reads: ['listOperatorModels', 'listPriceVersions', 'listDeployments', 'listProviderHealth'],
  },
  component: lazyPage(() => import('../pages/operator/served-model-page'), 'ServedModelPage'),
});
const providersRoute = createRoute({
  getParentRoute: () => operatorRoute,
  path: 'providers',
  validateSearch: providersSearch,
  staticData: { title: 'Providers', least: 'operator', reads: ['listProviderHealth', 'listDeployments'] },
  component: lazyPage(() => import('../pages/operator/providers-page'), 'ProvidersPage'),
});
const credentialsRoute = createRoute({
  getParentRoute: () => operatorRoute,
  path: 'credentials',
  validateSearch: credentialsSearch,
  staticData: { title: 'Credentials', least: 'operator', reads: ['listCredentials', 'listProviderInstances'] },
  component: lazyPage(() => import('../pages/operator/credentials-page'), 'CredentialsPage'),
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
  component: lazyPage(() => import('../pages/operator/platform-audit-page'), 'PlatformAuditPage'),
});
const instancesRoute = createRoute({
  getParentRoute: () => operatorRoute,
  path: 'instances',
  staticData: { title: 'Instances', least: 'operator', reads: ['listInstances'] },
  component: lazyPage(() => import('../pages/operator/instances-page'), 'InstancesPage'),
});

/** Pages of the platform's staff. */
export const operatorRoutes = operatorRoute.addChildren([
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
]);
