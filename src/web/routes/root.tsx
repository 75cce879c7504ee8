import type { QueryClient } from '@tanstack/react-query';
import { createRootRouteWithContext } from '@tanstack/react-router';
import { NoSuchPage } from '../app/no-such-page';
import { RootLayout } from '../app/root-layout';
import type { Least, OperationId } from '../app/route-rules';
import { VisitorFrame } from '../app/visitor-layout';

/** The pages: path, least role, title, and the operations that a page reads when it opens. */
declare module '@tanstack/react-router' {
  interface StaticDataRouteOption {
    readonly title?: string;
    readonly least?: Least;
    readonly reads?: readonly OperationId[];
  }
}

export const rootRoute = createRootRouteWithContext<{ readonly queries: QueryClient }>()({
  component: RootLayout,
  notFoundComponent: () => (
    <VisitorFrame>
      <NoSuchPage />
    </VisitorFrame>
  ),
});
