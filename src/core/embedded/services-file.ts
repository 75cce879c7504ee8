import { readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createFile, hasErrorCode, replaceFile } from '../secrets/private-files';
import { processStartMark } from './process-control';

/** `<dataDir>/services.json`: the owner of the embedded services and their URLs. */
export interface ServicesState {
  readonly ownerPid: number;
  readonly ownerStartMark: string | null;
  /** A command runs them for a short time; other processes wait instead of attaching. */
  readonly temporary: boolean;
  /** `false` until all services answer. */
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

/** The file of a live owner, or `null` when no process runs the services. */
export function readLiveServices(dataDir: string): ServicesState | null {
  const state = readState(servicesPath(dataDir));
  return state !== null && isAlive(state) ? state : null;
}

/** The lock on the services of one data directory; held until `release` or the end of the process. */
export class ServicesFile {
  private constructor(
    private readonly path: string,
    private state: ServicesState,
  ) {}

  /**
   * Becomes the owner of a data directory. Replaces the file of a dead owner and waits for a command that runs the
   * services.
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
 * Moves a dead owner's file away. Two starting processes may see the same dead owner; the slower one could move the new
 * file of the faster one, detects that by its content, and restores it.
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
