import { createRoute } from '@tanstack/react-router';
import { lazyPage } from './lazy-page';
import { VisitorLayout } from '../app/visitor-layout';
import { rootRoute } from './root';

const visitorRoute = createRoute({ getParentRoute: () => rootRoute, id: 'visitor', component: VisitorLayout });

/** `next`: the path of the dashboard to open after signing in. */
const nextSearch = (search: Record<string, unknown>): { readonly next?: string } =>
  typeof search.next === 'string' && /^\/(?![/\\])/.test(search.next) ? { next: search.next } : {};

const loginRoute = createRoute({
  getParentRoute: () => visitorRoute,
  path: 'login',
  validateSearch: nextSearch,
  staticData: { title: 'Sign in', least: 'anyone' },
  component: lazyPage(() => import('../pages/accounts/login-page'), 'LoginPage'),
});
const registerRoute = createRoute({
  getParentRoute: () => visitorRoute,
  path: 'register',
  staticData: { title: 'Register', least: 'anyone' },
  component: lazyPage(() => import('../pages/accounts/register-page'), 'RegisterPage'),
});
const forgotPasswordRoute = createRoute({
  getParentRoute: () => visitorRoute,
  path: 'forgot-password',
  staticData: { title: 'Forgotten password', least: 'anyone' },
  component: lazyPage(() => import('../pages/accounts/forgot-password-page'), 'ForgotPasswordPage'),
});
const verifyEmailRoute = createRoute({
  getParentRoute: () => visitorRoute,
  path: 'verify-email',
  staticData: { title: 'Confirm your e-mail address', least: 'anyone' },
  component: lazyPage(() => import('../pages/accounts/verify-email-page'), 'VerifyEmailPage'),
});
const resetPasswordRoute = createRoute({
  getParentRoute: () => visitorRoute,
  path: 'reset-password',
  staticData: { title: 'Set a new password', least: 'anyone' },
  component: lazyPage(() => import('../pages/accounts/reset-password-page'), 'ResetPasswordPage'),
});
const acceptInvitationRoute = createRoute({
  getParentRoute: () => visitorRoute,
  path: 'accept-invitation',
  staticData: { title: 'Accept your invitation', least: 'anyone' },
  component: lazyPage(() => import('../pages/accounts/accept-invitation-page'), 'AcceptInvitationPage'),
});

/** `model`: the model to try. */

/** Pages for visitors. */
export const visitorRoutes = visitorRoute.addChildren([
  loginRoute,
  registerRoute,
  forgotPasswordRoute,
  verifyEmailRoute,
  resetPasswordRoute,
  acceptInvitationRoute,
]);
