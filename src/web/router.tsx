import type { QueryClient } from '@tanstack/react-query';
import { createRouter } from '@tanstack/react-router';
import { isReachable } from './api/client';
import { isApiError } from './api/errors';
import { FailureView } from './app/failure-view';
import { giveHeadingFocus, wantHeadingFocusInPlace } from './app/heading-focus';
import { NoSuchPage } from './app/no-such-page';
import { PageSkeleton } from './ui/skeleton';
import { routeTree } from './routes/index';

export function createAppRouter(queries: QueryClient) {
  const router = createRouter({
    routeTree,
    basepath: '/dashboard',
    context: { queries },
    defaultPreload: 'intent',
    defaultPendingComponent: PageSkeleton,
    defaultErrorComponent: ({ error, reset }) => (
      <FailureView
        error={asError(error)}
        onRetry={isApiError(error, 'unreachable') ? () => void reloadIfReachable() : reset}
      />
    ),
    defaultNotFoundComponent: () => <NoSuchPage />,
    scrollRestoration: true,
    // What no page knows in an address is left out, instead of passed on as it is.
    search: { strict: true },
  });
  router.subscribe('onRendered', ({ pathChanged, fromLocation }) => {
    if (!pathChanged || fromLocation === undefined) return;
    wantHeadingFocusInPlace();
    giveHeadingFocus(document.querySelector('h1'));
  });
  return router;
}

/** What could not be loaded may be code, and some browsers do not load a module a second time. */
async function reloadIfReachable(): Promise<void> {
  if (await isReachable()) window.location.reload();
}

function asError(value: unknown): Error {
  return value instanceof Error ? value : new Error(String(value));
}

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof createAppRouter>;
  }
}
