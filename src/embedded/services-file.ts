import { readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createFile, hasErrorCode, replaceFile } from './files';
import { processStartMark } from './process-control';

/** `<dataDir>/services.json`: who runs the embedded services, and where they listen. */
export interface ServicesState {
  readonly ownerPid: number;
  readonly ownerStartMark: string | null;
  /** A command runs them for itself and ends soon; others wait instead of attaching. */
  readonly temporary: boolean;
  /** `false` until everything answers. */
  readonly ready: boolean;
  readonly databaseUrl: string | null;
  readonly redisUrl: string | null;
  readonly postgresPid: number | null;
  readonly redisPid: number | null;
}

/** Another process runs the services of this data directory. */
export class DataDirectoryInUseError extends Error {
  override readonly name = 'DataDirectoryInUseError';

  constructor(dataDir: string, ownerPid: number) {
    super(
      `Process ${ownerPid} already runs a gateway on the data directory ${dataDir}. ` +
        'Stop it first, or give this one another DATA_DIR (and PORT).',
    );
  }
}

const TEMPORARY_OWNER_WAIT_MS = 30_000;
const POLL_MS = 50;

/** The file of a living owner, or `null` when nobody runs the services. */
export function readLiveServices(dataDir: string): ServicesState | null {
  const state = readState(servicesPath(dataDir));
  return state !== null && isAlive(state) ? state : null;
}

/** The right to run the services of one data directory; held until `release`, or until the process is gone. */
export class ServicesFile {
  private constructor(
    private readonly path: string,
    private state: ServicesState,
  ) {}

  /**
   * Becomes the owner of a data directory. What a dead owner left behind is replaced, a command that runs the services
   * for itself is waited for.
   *
   * @throws DataDirectoryInUseError when a gateway holds the directory
   */
  static async claim(dataDir: string, temporary: boolean): Promise<ServicesFile> {
    const path = servicesPath(dataDir);
    const state: ServicesState = {
      ownerPid: process.pid,
      ownerStartMark: processStartMark(process.pid),
      temporary,
      ready: false,
      databaseUrl: null,
      redisUrl: null,
      postgresPid: null,
      redisPid: null,
    };
    for (let waitedMs = 0; ; waitedMs += POLL_MS) {
      if (createFile(path, serialize(state))) {
        return new ServicesFile(path, state);
      }
      const holder = readState(path);
      if (holder === null || !isAlive(holder)) {
        removeStale(path, holder);
      } else if (holder.temporary && waitedMs < TEMPORARY_OWNER_WAIT_MS) {
        await delay(POLL_MS);
      } else {
        throw new DataDirectoryInUseError(dataDir, holder.ownerPid);
      }
    }
  }

  update(changes: Partial<ServicesState>): void {
    this.state = { ...this.state, ...changes };
    replaceFile(this.path, serialize(this.state));
  }

  release(): void {
    rmSync(this.path, { force: true });
  }
}

function servicesPath(dataDir: string): string {
  return join(dataDir, 'services.json');
}

function serialize(state: ServicesState): string {
  return `${JSON.stringify(state, null, 2)}\n`;
}

function readState(path: string): ServicesState | null {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as ServicesState;
  } catch {
    return null;
  }
}

function isAlive(state: ServicesState): boolean {
  const startMark = processStartMark(state.ownerPid);
  return startMark !== null && startMark === state.ownerStartMark;
}

/**
 * Moves a dead owner's file out of the way. Two starters may see the same dead owner; the slower one would then move
 * the faster one's new file, notices by its content, and puts it back.
 */
function removeStale(path: string, seen: ServicesState | null): void {
  const aside = `${path}.${process.pid}.stale`;
  try {
    renameSync(path, aside);
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT')) {
      return;
    }
    throw error;
  }
  const moved = readState(aside);
  if (moved !== null && isAlive(moved) && moved.ownerPid !== seen?.ownerPid) {
    renameSync(aside, path);
  } else {
    rmSync(aside, { force: true });
  }
}
