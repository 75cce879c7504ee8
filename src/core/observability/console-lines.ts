import { format } from 'node:util';
import type { Logger } from 'pino';

/**
 * Makes lines of the log of what libraries write to the console, such as BullMQ about the eviction policy of Redis, and
 * of Node's warnings. Those are plain text, on several lines, and may hold addresses with passwords.
 */
export function logConsole(logger: Logger): void {
  const warn = (...values: unknown[]): void => logger.warn({ event: 'library_warning' }, format(...values));
  const error = (...values: unknown[]): void => logger.error({ event: 'library_error' }, format(...values));
  Object.assign(console, { debug: warn, log: warn, info: warn, warn, error });
  // Among them Node's own, which prints.
  process.removeAllListeners('warning');
  process.on('warning', ({ name, message }) => logger.warn({ event: 'node_warning' }, `${name}: ${message}`));
}
