/**
 * The gateway as users run it: a separate process on a free port, `node dist/src/main.js` from the build of `npm test`.
 * It does not inherit the developer's environment.
 */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { COMPILE_CACHE, DATABASE_WAS_LATE, type ExitStatus, ManagedChild } from './child-process';
import { redisSettings } from './servers';

/** Keys issued by a test are valid in every process started with this. */
export const TEST_PEPPER = 'a-pepper-that-only-the-test-suite-uses';

export interface GatewayProcessSettings {
  /** Omit together with `redisUrl` for the embedded servers. */
  readonly databaseUrl?: string;
  readonly redisUrl?: string;
  readonly dataDir?: string;
  readonly catalogDir?: string;
  readonly port?: number;
  /** The folder of another version's build; default: `dist` of this one. */
  readonly build?: string;
  readonly environment?: Readonly<Record<string, string>>;
}

const BUILD = resolve(__dirname, '../../dist');
const COMMAND_LINE = join(BUILD, 'src/cli/main.js');
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
   * Starts the process without waiting for it. Without a given port the process picks one itself: a port that is free
   * now can be taken before it listens.
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

  /** Available after its startup message. */
  get port(): number {
    const port = this.knownPort ?? WELCOME.exec(this.log)?.[1];
    if (port === undefined) throw new Error(`The gateway does not listen yet:\n${this.log}`);
    return (this.knownPort = Number(port));
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** All output of the process. */
  get log(): string {
    return this.child.output;
  }

  /**
   * Resolves with the milliseconds since the launch, once the process has logged its start and `/ready` returns 200.
   * @throws Error with the log.
   */
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

  /** The status of `/ready`; 0 without a response. */
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

/** Runs `npm run gateway -- <command>` with the settings of a gateway. Resolves when it has exited. */
export async function runCommand(
  settings: GatewayProcessSettings,
  ...command: readonly string[]
): Promise<ExitStatus & { readonly output: string }> {
  const child = runProgram(COMMAND_LINE, command, settings);
  return { ...(await child.exited), output: child.output };
}

export interface DataDirectory {
  readonly path: string;
  /** Also deletes files created by processes. */
  remove(): void;
}

/** A directory for one test. */
export function createDataDirectory(): DataDirectory {
  const path = mkdtempSync(join(tmpdir(), 'gateway-process-'));
  // When the tests run as root, the unprivileged account of PostgreSQL needs access.
  chmodSync(path, 0o711);
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

function runGateway(settings: GatewayProcessSettings): ManagedChild {
  return runProgram(join(settings.build ?? BUILD, 'src/main.js'), [], { port: 0, ...settings });
}

function runProgram(file: string, args: readonly string[], settings: GatewayProcessSettings): ManagedChild {
  return new ManagedChild({
    command: process.execPath,
    args: ['--enable-source-maps', file, ...args],
    // Ignores the project's `.env` too.
    options: { cwd: tmpdir(), env: toEnvironment(settings) },
    stopSignal: 'SIGTERM',
  });
}

function toEnvironment(settings: GatewayProcessSettings): NodeJS.ProcessEnv {
  const { port, databaseUrl, redisUrl, dataDir, catalogDir } = settings;
  const external = databaseUrl !== undefined && redisUrl !== undefined;
  return {
    PATH: process.env.PATH,
    ...COMPILE_CACHE,
    NODE_ENV: 'test',
    HOST: '127.0.0.1',
    ...(port !== undefined && { PORT: String(port) }),
    ...(databaseUrl !== undefined && { DATABASE_URL: databaseUrl }),
    ...(redisUrl !== undefined && redisSettings(redisUrl)),
    ...(dataDir !== undefined && { DATA_DIR: dataDir }),
    ...(catalogDir !== undefined && { CATALOG_DIR: catalogDir }),
    ...(external && { API_KEY_PEPPER: TEST_PEPPER }),
    // Failures are scripted here, and deployment health is shared through Redis, which all runs share.
    CIRCUIT_BREAKER_FAILURES: '0',
    // Tests poll without a pause.
    LIMIT_KEY_READS_PER_SECOND: '1000000',
    // One user makes all changes of a test.
    DASHBOARD_CHANGES_PER_MINUTE: '1000000',
    ...settings.environment,
  };
}
