import { lazyRouteComponent } from '@tanstack/react-router';
import { isReachable } from '../api/client';
import { ApiError } from '../api/errors';

/**
 * A component in a chunk of its own. For a chunk that cannot be loaded, the router loads the document again, because
 * an update may have replaced it. While the service cannot be reached, that would replace the dashboard by an error.
 */
export function lazyPage<Name extends string, Component extends (props: never) => unknown>(
  importer: () => Promise<Record<Name, Component>>,
  name: Name,
) {
  return lazyRouteComponent(async () => {
    try {
      return await importer();
    } catch (error) {
      throw (await isReachable()) ? error : ApiError.unreachable();
    }
  }, name);
}
