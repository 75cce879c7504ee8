import type { ChildProcess } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { type EndStep, endProcess, sendSignal } from './process-control';

const FIRST_RETRY_MS = 100;
const MAX_RETRY_MS = 5_000;

/** A child server process on 127.0.0.1. */
export interface EmbeddedServer {
  /** Contains the password. */
  readonly url: string;
  stop(): Promise<void>;
}

export interface ProcessDefinition {
  readonly name: string;
  /** Starts the process and resolves when it answers. */
  launch(): Promise<ChildProcess>;
  /** Called for every process, the first one and each restart. */
  onLaunch(pid: number): void;
  /** How to stop it. */
  readonly endSteps: readonly EndStep[];
}

/** A server process that is restarted when it exits unexpectedly, like a service under an init system. */
export class SupervisedProcess {
  private child: ChildProcess | null = null;
  private relaunching: Promise<void> = Promise.resolve();
  private readonly stopping = new AbortController();
  /** A gateway that exits without a clean stop (a crash, `process.exit`) must not leave the server running. */
  private readonly endWithOwner = () => this.signal('SIGINT');

  constructor(
    private readonly definition: ProcessDefinition,
    private readonly logger: Logger,
  ) {}

  async start(): Promise<void> {
    process.once('exit', this.endWithOwner);
    try {
      const child = await this.definition.launch();
      this.watch(child);
      this.record(child);
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.relaunching;
    if (this.child?.pid !== undefined) {
      await endProcess(this.child.pid, this.definition.endSteps);
    }
    process.removeListener('exit', this.endWithOwner);
  }

  private watch(child: ChildProcess): void {
    this.child = child;
    const onExit = (exitCode: number | null, signal: string | null) => {
      if (!this.stopping.signal.aborted) {
        this.logger.error(
          { event: 'embedded_server_exited', exit_code: exitCode, signal },
          `${this.definition.name} exited unexpectedly and is restarted`,
        );
        this.child = null;
        this.relaunching = this.relaunch();
      }
    };
    if (child.exitCode === null && child.signalCode === null) {
      child.once('exit', onExit);
    } else {
      onExit(child.exitCode, child.signalCode);
    }
  }

  private record({ pid }: ChildProcess): void {
    if (pid !== undefined) this.definition.onLaunch(pid);
  }

  /** On a full disk the record fails, but the server runs on: another start would find its port in use. */
  private recordRestart(child: ChildProcess): void {
    try {
      this.record(child);
    } catch (error) {
      this.logger.warn(
        { event: 'embedded_server_not_recorded', err: error },
        `${this.definition.name} runs, but its process could not be recorded`,
      );
    }
  }

  private async relaunch(): Promise<void> {
    for (let waitMs = FIRST_RETRY_MS; !this.stopping.signal.aborted; waitMs = Math.min(waitMs * 2, MAX_RETRY_MS)) {
      try {
        const child = await this.definition.launch();
        this.watch(child);
        this.recordRestart(child);
        return;
      } catch (error) {
        this.logger.error(
          { event: 'embedded_server_start_failed', err: error },
          `${this.definition.name} cannot be started`,
        );
      }
      await delay(waitMs, undefined, { signal: this.stopping.signal }).catch(() => undefined);
    }
  }

  private signal(signal: NodeJS.Signals): void {
    if (this.child?.pid !== undefined) {
      sendSignal(this.child.pid, signal);
    }
  }
}
