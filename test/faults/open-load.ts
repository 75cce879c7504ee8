/** Runs the load generator of `open-load-process.ts`, one load at a time. */
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join, resolve } from 'node:path';
import type { OpenLoadJob, OpenLoadResult } from './open-load-process';

export class LoadGenerator {
  private constructor(private readonly child: ChildProcess) {}

  static start(): LoadGenerator {
    const loader = resolve(__dirname, '../harness/register-typescript.js');
    return new LoadGenerator(fork(join(__dirname, 'open-load-process.ts'), { execArgv: ['--require', loader] }));
  }

  async run(job: OpenLoadJob): Promise<OpenLoadResult> {
    this.child.send(job);
    const [result] = (await once(this.child, 'message')) as [OpenLoadResult];
    return result;
  }

  stop(): void {
    this.child.disconnect();
  }
}
