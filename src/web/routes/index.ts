import { operatorRoutes } from './operator';
import { organizationRoutes } from './organization';
import { rootRoute } from './root';
import { signedInRoute, userRoutes } from './signed-in';
import { visitorRoutes } from './visitor';

/** The pages: path, least role, title, and the operations that a page reads when it opens. */
export const routeTree = rootRoute.addChildren([
  visitorRoutes,
  signedInRoute.addChildren([...userRoutes, organizationRoutes, operatorRoutes]),
]);
