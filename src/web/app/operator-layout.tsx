import { Outlet } from '@tanstack/react-router';
import { NoSuchPage } from './no-such-page';
import { useCurrentUser } from './use-session';

/** Pages of the platform's staff. */
export function OperatorLayout() {
  return useCurrentUser().is_operator ? <Outlet /> : <NoSuchPage />;
}
