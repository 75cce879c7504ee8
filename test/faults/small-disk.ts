/** A small file system of one test, which the test may fill. */
import { spawnSync } from 'node:child_process';
import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { createDataDirectory, type DataDirectory } from '../harness/gateway-process';
import { runProgram } from '../harness/external-program';
import { hasErrorCode } from '../../src/core/secrets/private-files';

const PIECE = Buffer.alloc(65_536);
/** The smallest write, for what larger ones have left over. */
const CRUMB = Buffer.alloc(512);

export class SmallDisk implements DataDirectory {
  private readonly filler: string;

  private constructor(private readonly directory: DataDirectory) {
    this.filler = join(directory.path, 'filler');
  }

  static mount(sizeMiB: number): SmallDisk {
    const directory = createDataDirectory();
    try {
      runProgram('mount', ['-t', 'tmpfs', '-o', `size=${sizeMiB}m,mode=711`, 'tmpfs', directory.path]);
    } catch (error) {
      directory.remove();
      throw error;
    }
    return new SmallDisk(directory);
  }

  get path(): string {
    return this.directory.path;
  }

  /** Takes all space that is left. */
  fill(): void {
    const file = openSync(this.filler, 'a');
    try {
      for (const piece of [PIECE, CRUMB]) while (isWritten(file, piece));
    } finally {
      closeSync(file);
    }
  }

  /** Gives it back. */
  free(): void {
    rmSync(this.filler, { force: true });
  }

  remove(): void {
    // Lazily: a process may still have a file open.
    spawnSync('umount', ['-l', this.path]);
    this.directory.remove();
  }
}

/** These tests run only where a file system can be mounted; elsewhere the report names them as skipped. */
export function describeWithSmallDisk(tests: () => void): void {
  (canMount() ? describe : describe.skip)('on a small disk (needs the right to mount)', tests);
}

function canMount(): boolean {
  try {
    SmallDisk.mount(1).remove();
    return true;
  } catch {
    return false;
  }
}

function isWritten(file: number, piece: Buffer): boolean {
  try {
    writeSync(file, piece);
    return true;
  } catch (error) {
    if (hasErrorCode(error, 'ENOSPC')) return false;
    throw error;
  }
}
