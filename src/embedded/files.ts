import { randomUUID } from 'node:crypto';
import { linkSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { isNativeError } from 'node:util/types';

/** Writes a private file in one step, or returns `false` and changes nothing when it exists already. */
export function createFile(path: string, content: string): boolean {
  const draft = writeDraft(path, content);
  try {
    linkSync(draft, path);
    return true;
  } catch (error) {
    if (hasErrorCode(error, 'EEXIST')) {
      return false;
    }
    throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}

/** Replaces a private file in one step: a reader sees the old content or the new, never a part. */
export function replaceFile(path: string, content: string): void {
  renameSync(writeDraft(path, content), path);
}

/** Whether an error of the file system has this code, such as `ENOENT`. */
export function hasErrorCode(error: unknown, code: string): boolean {
  return isNativeError(error) && 'code' in error && error.code === code;
}

function writeDraft(path: string, content: string): string {
  mkdirSync(dirname(path), { recursive: true });
  const draft = `${path}.${randomUUID()}`;
  writeFileSync(draft, content, { mode: 0o600, flag: 'wx' });
  return draft;
}
