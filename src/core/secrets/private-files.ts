import { randomUUID } from 'node:crypto';
import { accessSync, constants, existsSync, linkSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { isNativeError } from 'node:util/types';

/** The data directory cannot be used. The message says which file is at fault and what to check. */
export class DataDirectoryError extends Error {
  override readonly name = 'DataDirectoryError';
}

/**
 * Creates a private file atomically; returns `false` without changes when it exists.
 * @throws DataDirectoryError
 */
export function createFile(path: string, content: string): boolean {
  if (existsSync(path)) return false;
  return withDraft(path, content, (draft) => {
    try {
      linkSync(draft, path);
      return true;
    } catch (error) {
      if (hasErrorCode(error, 'EEXIST')) return false;
      throw error;
    }
  });
}

/**
 * Replaces a private file atomically: a reader sees the old or the new content, never a part.
 * @throws DataDirectoryError
 */
export function replaceFile(path: string, content: string): void {
  withDraft(path, content, (draft) => renameSync(draft, path));
}

/**
 * Creates a private directory if there is none.
 * @throws DataDirectoryError unless this process can create files in it
 */
export function requireWritableDirectory(path: string): void {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 });
    accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    throw cannotBeWritten(path, error);
  }
}

/** Whether a file system error has this code, such as `ENOENT`. */
export function hasErrorCode(error: unknown, code: string): boolean {
  return isNativeError(error) && 'code' in error && error.code === code;
}

/** Removes the draft on failure: otherwise each process start on a full disk would leave an empty file behind. */
function withDraft<Result>(path: string, content: string, publish: (draft: string) => Result): Result {
  const draft = `${path}.${randomUUID()}`;
  try {
    mkdirSync(dirname(path), { recursive: true });
    try {
      writeFileSync(draft, content, { mode: 0o600, flag: 'wx' });
      return publish(draft);
    } finally {
      rmSync(draft, { force: true });
    }
  } catch (error) {
    throw cannotBeWritten(path, error);
  }
}

/** Names the file: the system error names none on a full disk, and a missing file on a read-only file system. */
function cannotBeWritten(path: string, error: unknown): DataDirectoryError {
  const reason = isNativeError(error) ? error.message : String(error);
  return new DataDirectoryError(`${path} cannot be written: ${reason}. Check the directory that DATA_DIR names.`, {
    cause: error,
  });
}
