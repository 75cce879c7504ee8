#!/usr/bin/env node
/**
 * `gateway`, the command of the installed package: without arguments the HTTP process, `gateway worker` a worker,
 * anything else the command line.
 */
const OLDEST_NODE_MAJOR = 24;

async function main([command]: readonly string[]): Promise<void> {
  // Checked before other files are loaded: an older Node fails at their imports without naming the cause.
  if (Number.parseInt(process.versions.node, 10) < OLDEST_NODE_MAJOR) {
    process.stderr.write(`The gateway needs Node ${OLDEST_NODE_MAJOR} or later; this is ${process.version}.\n`);
    process.exitCode = 1;
    return;
  }
  process.setSourceMapsEnabled(true);
  if (command === undefined) await import('./main.js');
  else if (command === 'worker') await import('./worker.js');
  else await import('./cli/main.js');
}

void main(process.argv.slice(2));
