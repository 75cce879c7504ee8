import { ConfigurationError } from './core/config/load-config';
import { isDatabaseUnavailable } from './core/database/database-outage';
import { driverErrorOf, isPermanentDatabaseError } from './core/database/driver-error';
import { OldDatabaseError } from './core/database/migration-files';
import { DatabaseConnectionError } from './core/database/once-reachable';
import { EmbeddedServerError } from './core/embedded/embedded-server-error';
import { DataDirectoryInUseError } from './core/embedded/services-file';
import { ListenError } from './core/http/listen';
import { DataDirectoryError } from './core/secrets/private-files';
import { SecretBoxError } from './core/secrets/secret-box';
import { CatalogError } from './models/load-catalog';

/** Errors whose message suffices for the operator, without a stack. */
const MESSAGE_SUFFICES = [
  ConfigurationError,
  CatalogError,
  DataDirectoryError,
  DataDirectoryInUseError,
  DatabaseConnectionError,
  EmbeddedServerError,
  ListenError,
  OldDatabaseError,
];
/** System calls that fail when a server cannot be reached; others concern a port of this process or a file. */
const CONNECTING: ReadonlySet<unknown> = new Set(['connect', 'getaddrinfo']);

/** Describes for operators what ended a process or command, with a stack only for a bug in the program. */
export function describeFailure(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (MESSAGE_SUFFICES.some((type) => error instanceof type)) return error.message;
  if (error instanceof SecretBoxError) return `A stored secret cannot be opened. ${error.message} Check SECRETS_KEY.`;
  if (error instanceof AggregateError) return error.errors.map(describeFailure).join('; ');
  // The system message is enough for a port in use or a file that cannot be written.
  if ('syscall' in error) {
    return CONNECTING.has(error.syscall) ? `Cannot reach a server: ${error.message}` : error.message;
  }
  const cause = driverErrorOf(error) as Error;
  if (isPermanentDatabaseError(cause)) return `The database rejected the statement: ${cause.message}`;
  if (isDatabaseUnavailable(error)) return `The database is unavailable: ${cause.message}`;
  return error.stack ?? error.message;
}
