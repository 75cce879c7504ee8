import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';

const PROGRAM = resolve(__dirname, '../../dist/src/embedded/redis-process.js');
const PASSWORD = 'only-for-tests';

/** A Redis server of one test, which the test may stop. It ends with the test runner. */
export class RedisProcess {
  private constructor(
    private readonly child: ChildProcess,
    readonly url: string,
  ) {}

  static async start(): Promise<RedisProcess> {
    const child = fork(PROGRAM, { execArgv: [], stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
    child.send({ port: 0, password: PASSWORD });
    const [{ port }] = (await once(child, 'message')) as [{ port: number }];
    return new RedisProcess(child, `redis://:${PASSWORD}@127.0.0.1:${port}`);
  }

  async stop(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    this.child.kill('SIGKILL');
    await once(this.child, 'exit');
  }
}
