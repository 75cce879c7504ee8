import { DatabaseError } from 'pg';
import { QueryFailedError } from 'typeorm';
import { DatabaseConnectionError } from './core/database/once-reachable';
import { ListenError } from './core/http/listen';
import { DataDirectoryError } from './core/secrets/private-files';
import { SecretBoxError } from './core/secrets/secret-box';
import { describeFailure } from './describe-failure';

const systemError = (message: string, syscall: string) => Object.assign(new Error(message), { code: 'E', syscall });
const refused = systemError('connect ECONNREFUSED ::1:5432', 'connect');
const databaseError = (message: string, code: string) =>
  new QueryFailedError('SELECT 1', [], Object.assign(new DatabaseError(message, 0, 'error'), { code }));

describe('the failure that ends a process or command', () => {
  it.each<[string, unknown, string]>([
    ['an unreachable server', refused, 'Cannot reach a server: connect ECONNREFUSED ::1:5432'],
    [
      'all addresses of a host',
      new AggregateError([refused, systemError('connect ECONNREFUSED 127.0.0.1:5432', 'connect')]),
      'Cannot reach a server: connect ECONNREFUSED ::1:5432; Cannot reach a server: connect ECONNREFUSED 127.0.0.1:5432',
    ],
    [
      'a file, which is no server',
      systemError("EACCES: permission denied, open '/data/services.json'", 'open'),
      "EACCES: permission denied, open '/data/services.json'",
    ],
    [
      'a lost secret',
      new DataDirectoryError('/data/secrets.json lacks a secret.'),
      '/data/secrets.json lacks a secret.',
    ],
    [
      'a stored secret of another SECRETS_KEY',
      new SecretBoxError('It was sealed with a key that is not set.'),
      'A stored secret cannot be opened. It was sealed with a key that is not set. Check SECRETS_KEY.',
    ],
    [
      'a refused connection',
      new DatabaseConnectionError(new Error('database "gatewya" does not exist')),
      'Cannot connect to PostgreSQL: database "gatewya" does not exist. Check DATABASE_URL and DATABASE_DIRECT_URL.',
    ],
    [
      'a connection refused by all addresses of a host',
      new DatabaseConnectionError(new AggregateError([refused, new Error('no route')])),
      'Cannot connect to PostgreSQL: connect ECONNREFUSED ::1:5432; no route. Check DATABASE_URL and DATABASE_DIRECT_URL.',
    ],
    [
      'a host name without an address',
      new ListenError(systemError('getaddrinfo ENOTFOUND gateway.internal', 'getaddrinfo'), 'PORT'),
      'Cannot listen: getaddrinfo ENOTFOUND gateway.internal. Check HOST and PORT.',
    ],
    [
      'a missing privilege',
      databaseError('permission denied for schema public', '42501'),
      'The database rejected the statement: permission denied for schema public',
    ],
    [
      'a database that stops',
      databaseError('terminating connection due to administrator command', '57P01'),
      'The database is unavailable: terminating connection due to administrator command',
    ],
  ])('is described without a stack for %s', (_situation, error, text) => {
    expect(describeFailure(error)).toBe(text);
  });

  it('includes the stack for a bug in the program', () => {
    expect(describeFailure(new TypeError('oops'))).toMatch(/^TypeError: oops\n +at /);
  });
});
