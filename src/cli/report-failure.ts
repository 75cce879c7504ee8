import { CommanderError } from 'commander';
import { GatewayError } from '../common/errors/gateway-error';
import { ConfigurationError } from '../config/load-config';
import { CatalogError } from '../models/load-catalog';
import { CliError } from './cli-context';

export const EXIT_FAILURE = 1;
export const EXIT_USAGE = 2;

/** Options whose name is not the setting's name with dashes. */
const OPTION_NAMES: Readonly<Record<string, string>> = {
  requests_per_second: '--rps',
  requests_per_minute: '--rpm',
  tokens_per_minute: '--tpm',
};

/**
 * Writes what went wrong to standard error.
 * @returns the exit code: 2 for a command line or setting that must be changed, 1 for anything else.
 */
export function reportFailure(error: unknown): number {
  // Commander has written its own message; it also throws after printing help.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT_USAGE;
  process.stderr.write(`error: ${describe(error)}\n`);
  const isUsage = error instanceof ConfigurationError || (error instanceof GatewayError && error.param !== undefined);
  return isUsage ? EXIT_USAGE : EXIT_FAILURE;
}

function describe(error: unknown): string {
  if (error instanceof GatewayError) {
    return error.param === undefined ? error.message : `option '${toOptionName(error.param)}': ${error.message}`;
  }
  if (error instanceof CliError || error instanceof ConfigurationError || error instanceof CatalogError) {
    return error.message;
  }
  if (error instanceof AggregateError) return error.errors.map(describe).join('; ');
  if (isConnectionError(error)) return `A server cannot be reached: ${error.message}`;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

function toOptionName(param: string): string {
  const name = param.replace(/\[.*$/, '');
  return OPTION_NAMES[name] ?? `--${name.replaceAll('_', '-')}`;
}

function isConnectionError(error: unknown): error is Error {
  return error instanceof Error && 'code' in error && 'syscall' in error;
}
