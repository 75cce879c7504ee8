import { CommanderError } from 'commander';
import { GatewayError } from '../core/errors/gateway-error';
import { ConfigurationError } from '../core/config/load-config';
import { describeFailure } from '../describe-failure';
import { CliError } from './cli-context';

const EXIT_FAILURE = 1;
const EXIT_USAGE = 2;

/** Options whose name differs from the parameter name with dashes. */
const OPTION_NAMES: Readonly<Record<string, string>> = {
  reference: '--ref',
  requests_per_second: '--rps',
  requests_per_minute: '--rpm',
  tokens_per_minute: '--tpm',
};

/** The parameter that no command takes as an option: the secret of `credential set`. */
const STANDARD_INPUT = 'value';

/**
 * Writes the error to standard error.
 * @returns the exit code: 2 for an invalid command line or setting, 1 for any other error.
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
    return error.param === undefined ? error.message : `${placeOf(error.param)}: ${error.message}`;
  }
  return error instanceof CliError ? error.message : describeFailure(error);
}

/** Where a command got the parameter from. */
function placeOf(param: string): string {
  if (param === STANDARD_INPUT) return 'standard input';
  const name = param.replace(/\[.*$/, '');
  return `option '${OPTION_NAMES[name] ?? `--${name.replaceAll('_', '-')}`}'`;
}
