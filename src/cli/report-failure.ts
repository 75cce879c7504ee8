import { type Command, CommanderError } from 'commander';
import { GatewayError } from '../core/errors/gateway-error';
import { ConfigurationError } from '../core/config/load-config';
import { describeFailure } from '../describe-failure';
import { CliError } from './cli-context';

const EXIT_FAILURE = 1;
const EXIT_USAGE = 2;

/** Options whose name differs from the parameter name with dashes, in the commands that have them. */
const OPTION_NAMES: Readonly<Record<string, string>> = {
  effective_from: '--from',
  effective_to: '--to',
  price: '--file',
  reference: '--ref',
  requests_per_second: '--rps',
  requests_per_minute: '--rpm',
  tokens_per_minute: '--tpm',
};

/** Parameters that no command takes as an option: the secret of `credential set`, and passwords. */
const STANDARD_INPUT: readonly string[] = ['value', 'password'];

/**
 * Writes the error to standard error.
 * @param command the command that failed, if parsing got that far
 * @returns the exit code: 2 for an invalid command line or setting, 1 for any other error.
 */
export function reportFailure(error: unknown, command?: Command): number {
  // Commander has written its own message; it also throws after printing help.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT_USAGE;
  process.stderr.write(`error: ${describe(error, command)}\n`);
  const isUsage = error instanceof ConfigurationError || (error instanceof GatewayError && error.param !== undefined);
  return isUsage ? EXIT_USAGE : EXIT_FAILURE;
}

function describe(error: unknown, command: Command | undefined): string {
  if (error instanceof GatewayError) {
    return error.param === undefined ? error.message : `${placeOf(error.param, command)}: ${error.message}`;
  }
  return error instanceof CliError ? error.message : describeFailure(error);
}

/** The source of the parameter, for the message: an option or standard input. */
function placeOf(param: string, command: Command | undefined): string {
  const name = param.replace(/[.[].*$/, '');
  if (STANDARD_INPUT.includes(name)) return 'standard input';
  const regular = `--${name.replaceAll('_', '-')}`;
  const isRegular = command?.options.some(({ long }) => long === regular) ?? false;
  return `option '${isRegular ? regular : (OPTION_NAMES[name] ?? regular)}'`;
}
