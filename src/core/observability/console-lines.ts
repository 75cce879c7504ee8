import { format } from 'node:util';
import type { Logger } from 'pino';

/**
 * Turns console output of libraries, such as BullMQ's warning about Redis' eviction policy, and Node's warnings into
 * log lines. Without this they are plain text on several lines and may contain URLs with passwords.
 */
export function logConsole(logger: Logger): void {
  const warn = (...values: unknown[]): void => logger.warn({ event: 'library_warning' }, format(...values));
  const error = (...values: unknown[]): void => logger.error({ event: 'library_error' }, format(...values));
  Object.assign(console, { debug: warn, log: warn, info: warn, warn, error });
  // Includes Node's own listener, which prints warnings.
  process.removeAllListeners('warning');
  process.on('warning', ({ name, message }) => logger.warn({ event: 'node_warning' }, `${name}: ${message}`));
}
