import { CommanderError } from 'commander';
import { DatabaseError } from 'pg';
import { GatewayError } from '../core/errors/gateway-error';
import { ConfigurationError } from '../core/config/load-config';
import { OldDatabaseError } from '../core/database/migration-files';
import { CliError } from './cli-context';
import { reportFailure } from './report-failure';

describe('reportFailure', () => {
  let written: string;

  beforeEach(() => {
    written = '';
    jest.spyOn(process.stderr, 'write').mockImplementation((text) => {
      written += String(text);
      return true;
    });
  });

  afterEach(() => {
    jest.restoreAllMocks();
  });

  it.each<[unknown, number, string]>([
    [
      new GatewayError('validation_failed', 'Bad.', { param: 'allowed_ips[3]' }),
      2,
      "error: option '--allowed-ips': Bad.\n",
    ],
    [
      new GatewayError('validation_failed', 'Bad.', { param: 'requests_per_minute' }),
      2,
      "error: option '--rpm': Bad.\n",
    ],
    [new GatewayError('validation_failed', 'Bad.', { param: 'tokens_per_minute' }), 2, "error: option '--tpm': Bad.\n"],
    [new GatewayError('not_found', 'No such key.'), 1, 'error: No such key.\n'],
    [new ConfigurationError(['PORT is wrong']), 2, 'error: The configuration is wrong:\n  PORT is wrong\n'],
    [new CliError('Migrate first.'), 1, 'error: Migrate first.\n'],
    [new OldDatabaseError('Too old.'), 1, 'error: Too old.\n'],
    [
      Object.assign(new Error('no'), { code: 'ECONNREFUSED', syscall: 'connect' }),
      1,
      'error: Cannot reach a server: no\n',
    ],
    [
      Object.assign(new DatabaseError('bigint out of range', 0, 'error'), { code: '22003' }),
      1,
      'error: The database rejected the statement: bigint out of range\n',
    ],
    [new CommanderError(1, 'commander.unknownOption', 'unknown'), 2, ''],
    [new CommanderError(0, 'commander.helpDisplayed', 'help'), 0, ''],
  ])('%p', (error, exitCode, text) => {
    expect(reportFailure(error)).toBe(exitCode);
    expect(written).toBe(text);
  });

  it('prints the stack of an unexpected error', () => {
    expect(reportFailure(new TypeError('oops'))).toBe(1);
    expect(written).toMatch(/^error: TypeError: oops\n +at /);
  });
});
