/** A job worker as operators run it: `node dist/src/worker.js` from the build of `npm test`. */
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { COMPILE_CACHE, DATABASE_WAS_LATE, type ExitStatus, ManagedChild } from './child-process';
import { TEST_PEPPER } from './gateway-process';
import { redisSettings } from './servers';

export interface WorkerProcessSettings {
  readonly databaseUrl: string;
  readonly redisUrl: string;
  /** Shared with the gateway: outputs and secrets are in it. */
  readonly dataDir: string;
  /** The folder of another version's build; default: `dist` of this one. */
  readonly build?: string;
  readonly environment?: Readonly<Record<string, string>>;
}

const BUILD = resolve(__dirname, '../../dist');
const ADDRESS = /answers probes on (http:\/\/\S+)/;
const READY_WITHIN_MS = 100_000;
const POLL_MS = 20;

const running = new Set<WorkerProcess>();

/** Stops all workers that the tests of this file have not stopped. */
export async function endWorkers(): Promise<void> {
  await Promise.all([...running].map((worker) => worker.stop()));
}

export class WorkerProcess {
  private constructor(private readonly child: ManagedChild) {
    running.add(this);
    void child.exited.then(() => running.delete(this));
  }

  /** Starts the process and waits until it is ready. */
  static async start(settings: WorkerProcessSettings): Promise<WorkerProcess> {
    const { databaseUrl, redisUrl, dataDir, build = BUILD, environment } = settings;
    const child = new ManagedChild({
      command: process.execPath,
      args: ['--enable-source-maps', join(build, 'src/worker.js')],
      options: {
        cwd: tmpdir(),
        env: {
          PATH: process.env.PATH,
          ...COMPILE_CACHE,
          NODE_ENV: 'test',
          HOST: '127.0.0.1',
          WORKER_PORT: '0',
          LOG_LEVEL: 'error',
          PUBLIC_BASE_URL: 'https://gateway.test',
          DATABASE_URL: databaseUrl,
          ...redisSettings(redisUrl),
          DATA_DIR: dataDir,
          API_KEY_PEPPER: TEST_PEPPER,
          ...environment,
        },
      },
      stopSignal: 'SIGTERM',
    });
    const worker = new WorkerProcess(child);
    const startedAtMs = performance.now();
    while (worker.url === null) {
      if (child.hasExited && DATABASE_WAS_LATE.test(child.output)) return WorkerProcess.start(settings);
      if (child.hasExited) throw new Error(`The worker ended while starting:\n${child.output}`);
      if (performance.now() - startedAtMs > READY_WITHIN_MS) throw new Error(`No worker yet:\n${child.output}`);
      await delay(POLL_MS);
    }
    return worker;
  }

  get pid(): number {
    return this.child.pid;
  }

  /** URL of its probes; `null` until it listens. */
  get url(): string | null {
    return ADDRESS.exec(this.child.output)?.[1] ?? null;
  }

  get log(): string {
    return this.child.output;
  }

  /** `kill -9`. */
  kill(): Promise<ExitStatus> {
    return this.child.kill();
  }

  stop(): Promise<ExitStatus> {
    return this.child.end('SIGTERM');
  }

  /** Suspends the process until it is resumed. */
  suspend(): void {
    this.child.suspend();
  }

  resume(): void {
    this.child.resume();
  }
}
