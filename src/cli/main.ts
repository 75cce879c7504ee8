/**
 * The command line, `npm run gateway -- <command>`: administration without the dashboard. Commands use the same
 * services as the HTTP process and need no running gateway. Results go to standard output, messages to standard error;
 * with `--json` the result is exactly one document.
 */
import { runCommandLine } from './run-command-line';

// Embedded servers stop on `exit`, which is not emitted when a signal ends the process.
process.once('SIGINT', () => process.exit(130));
process.once('SIGTERM', () => process.exit(143));

// A reader such as `head` closes the pipe when it has read enough. The command has finished by then.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});

void runCommandLine(process.argv.slice(2));
