/**
 * Starts and stops the embedded services of a test run. They run in a separate process that stops them as soon as the
 * channel to the test runner closes, also when the runner is killed.
 */
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { firstMessage } from '../../src/core/embedded/process-control';

export interface TestServices {
  readonly databaseUrl: string;
  readonly redisUrl: string;
  /** For temporary files of the run; removed with the services. */
  readonly folder: string;
}

let servicesProcess: ChildProcess | undefined;

export async function startTestServices(): Promise<TestServices> {
  const child = fork(join(__dirname, 'services-process.ts'), {
    execArgv: ['--require', join(__dirname, 'register-typescript.js')],
    detached: true,
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  servicesProcess = child;
  return firstMessage<TestServices>(child, 'The embedded services for the tests did not start');
}

export async function stopTestServices(): Promise<void> {
  if (servicesProcess?.connected) {
    const exited = once(servicesProcess, 'exit');
    servicesProcess.disconnect();
    await exited;
  }
}
