import { fork, type ChildProcess } from 'node:child_process';
import { type EndStep, processStartMark } from './process-control';

export interface GuardedServer {
  readonly pid: number;
  /** Identifies the process together with its id. */
  readonly startMark: string | null;
  readonly endSteps: readonly EndStep[];
}

/**
 * Ends a server whose owner was killed. After `kill -9` the owner can do nothing, and the server would run until the
 * next start. The guard is a separate process that notices when the system closes its channel to the owner.
 */
export class OrphanGuard {
  private readonly child: ChildProcess;

  constructor(private readonly endSteps: readonly EndStep[]) {
    this.child = fork(require.resolve('./orphan-guard-process'), { detached: true, execArgv: [], stdio: 'ignore' });
    // Without a guard the next start ends the server.
    this.child.on('error', () => undefined);
    this.child.unref();
    this.child.channel?.unref();
  }

  /** From now on watches the process with this id instead of an earlier one. */
  watch(pid: number): void {
    const server: GuardedServer = { pid, startMark: processStartMark(pid), endSteps: this.endSteps };
    this.child.send(server, () => undefined);
  }

  /** Ends the guard. A server that still runs ends with it. */
  dismiss(): void {
    if (this.child.connected) this.child.disconnect();
  }
}
