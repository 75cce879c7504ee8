/**
 * The gateway as users run it: a process of its own on a port of its own, `node dist/src/main.js` as `npm test` has just
 * built it. It inherits nothing of the developer's environment.
 */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { DATABASE_WAS_LATE, type ExitStatus, ManagedChild } from './child-process';

/** Keys that a test issues by itself verify in every process that was started with this. */
export const TEST_PEPPER = 'a-pepper-that-only-tests-use-and-nobody-else';

export interface GatewayProcessSettings {
  /** Left out together with `redisUrl`: the embedded servers. */
  readonly databaseUrl?: string;
  readonly redisUrl?: string;
  readonly dataDir?: string;
  readonly catalogDir?: string;
  readonly port?: number;
  readonly environment?: Readonly<Record<string, string>>;
}

const MAIN = resolve(__dirname, '../../dist/src/main.js');
const COMMAND_LINE = resolve(__dirname, '../../dist/src/cli/main.js');
const WELCOME = /The gateway listens on http:\/\/127\.0\.0\.1:(\d+) /;
const READY_WITHIN_MS = 100_000;
const POLL_MS = 20;
const PROBE_TIMEOUT_MS = 20_000;

export class GatewayProcess {
  private readonly launchedAtMs = performance.now();
  private knownPort: number | null = null;

  private constructor(
    private running: ManagedChild,
    readonly settings: GatewayProcessSettings,
  ) {}

  /**
   * Starts the process and does not wait for it. Without a port of its own it takes one: what is free now need not be free
   * any more when it listens.
   */
  static launch(settings: GatewayProcessSettings): GatewayProcess {
    return new GatewayProcess(runGateway(settings), settings);
  }

  /** Starts the process and waits until it is ready. */
  static async start(settings: GatewayProcessSettings): Promise<GatewayProcess> {
    const gateway = GatewayProcess.launch(settings);
    await gateway.ready();
    return gateway;
  }

  get child(): ManagedChild {
    return this.running;
  }

  /** Once it has said hello. */
  get port(): number {
    const told = this.knownPort ?? WELCOME.exec(this.log)?.[1];
    if (told === undefined) throw new Error(`The gateway does not listen yet:\n${this.log}`);
    return (this.knownPort = Number(told));
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Everything the process has written. */
  get log(): string {
    return this.child.output;
  }

  /** Resolves, once it has said hello and `/ready` says yes, with the milliseconds since the launch. @throws Error with the log. */
  async ready(withinMs = READY_WITHIN_MS): Promise<number> {
    for (;;) {
      if (this.child.hasExited) {
        if (!DATABASE_WAS_LATE.test(this.log)) throw new Error(`The gateway ended while starting:\n${this.log}`);
        this.running = runGateway(this.settings);
      }
      if (WELCOME.test(this.log) && (await this.probe()) === 200) return performance.now() - this.launchedAtMs;
      if (performance.now() - this.launchedAtMs > withinMs) throw new Error(`The gateway is not ready:\n${this.log}`);
      await delay(POLL_MS);
    }
  }

  /** The status of `/ready`; 0 when nobody answers. */
  async probe(): Promise<number> {
    try {
      const reply = await fetch(`${this.url}/ready`, {
        headers: { connection: 'close' },
        signal: AbortSignal.timeout(PROBE_TIMEOUT_MS),
      });
      await reply.text();
      return reply.status;
    } catch {
      return 0;
    }
  }

  /** `kill -9` of this process alone. */
  kill(): Promise<ExitStatus> {
    return this.child.kill();
  }

  stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<ExitStatus> {
    return this.child.end(signal);
  }

  /** A new process with the same settings on the same port. */
  restart(): GatewayProcess {
    return GatewayProcess.launch({ ...this.settings, port: this.port });
  }
}

/** `npm run gateway -- <command>` with the settings of a gateway. Resolves when it has ended. */
export async function runCommand(
  settings: GatewayProcessSettings,
  ...command: readonly string[]
): Promise<ExitStatus & { readonly output: string }> {
  const child = runProgram(COMMAND_LINE, command, settings);
  return { ...(await child.exited), output: child.output };
}

/** A directory for one test; `remove` also takes away what the process has put there. */
export function createDataDirectory(): { readonly path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), 'gateway-process-'));
  // When the tests run as root, the account that PostgreSQL is lent has to get in.
  chmodSync(path, 0o711);
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

function runGateway(settings: GatewayProcessSettings): ManagedChild {
  return runProgram(MAIN, [], { port: 0, ...settings });
}

function runProgram(file: string, args: readonly string[], settings: GatewayProcessSettings): ManagedChild {
  return new ManagedChild({
    command: process.execPath,
    args: ['--enable-source-maps', file, ...args],
    // No `.env` of the project gets in either.
    options: { cwd: tmpdir(), env: toEnvironment(settings) },
    stopSignal: 'SIGTERM',
  });
}

function toEnvironment(settings: GatewayProcessSettings): NodeJS.ProcessEnv {
  const { port, databaseUrl, redisUrl, dataDir, catalogDir } = settings;
  const external = databaseUrl !== undefined && redisUrl !== undefined;
  return {
    PATH: process.env.PATH,
    NODE_ENV: 'test',
    HOST: '127.0.0.1',
    ...(port !== undefined && { PORT: String(port) }),
    ...(databaseUrl !== undefined && { DATABASE_URL: databaseUrl }),
    ...(redisUrl !== undefined && { REDIS_URL: redisUrl }),
    ...(dataDir !== undefined && { DATA_DIR: dataDir }),
    ...(catalogDir !== undefined && { CATALOG_DIR: catalogDir }),
    ...(external && { API_KEY_PEPPER: TEST_PEPPER }),
    // Failures are scripted here, and the health of a deployment is shared through Redis, which the runs share.
    CIRCUIT_BREAKER_FAILURES: '0',
    ...settings.environment,
  };
}
