import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { firstMessage } from '../../src/core/embedded/process-control';

const PROGRAM = resolve(__dirname, '../../dist/src/core/embedded/redis-process.js');
const PASSWORD = 'only-for-tests';

/** A Redis server of one test, which the test may stop. It ends with the test runner. */
export class RedisProcess {
  private constructor(
    private child: ChildProcess,
    private readonly port: number,
  ) {}

  static async start(): Promise<RedisProcess> {
    const { child, port } = await launch(0);
    return new RedisProcess(child, port);
  }

  get url(): string {
    return `redis://:${PASSWORD}@127.0.0.1:${this.port}`;
  }

  /** A new, empty server on the same port. Resolves when it listens. */
  async restart(): Promise<void> {
    const { child } = await launch(this.port);
    this.child = child;
  }

  /** Suspends the server: connections stay open without responses. */
  suspend(): void {
    this.child.kill('SIGSTOP');
  }

  resume(): void {
    this.child.kill('SIGCONT');
  }

  /** `kill -9`. */
  async stop(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    this.child.kill('SIGKILL');
    await once(this.child, 'exit');
  }
}

async function launch(port: number): Promise<{ child: ChildProcess; port: number }> {
  const child = fork(PROGRAM, { execArgv: [], stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  child.send({ port, password: PASSWORD });
  const address = await firstMessage<{ port: number }>(child, `${PROGRAM} did not start: has it been built?`);
  return { child, port: address.port };
}
