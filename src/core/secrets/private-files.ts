import { randomUUID } from 'node:crypto';
import { linkSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { isNativeError } from 'node:util/types';

/** Creates a private file atomically; returns `false` without changes when it exists. */
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

/** Replaces a private file atomically: a reader sees the old or the new content, never a part. */
export function replaceFile(path: string, content: string): void {
  renameSync(writeDraft(path, content), path);
}

/** Whether a file system error has this code, such as `ENOENT`. */
export function hasErrorCode(error: unknown, code: string): boolean {
  return isNativeError(error) && 'code' in error && error.code === code;
}

function writeDraft(path: string, content: string): string {
  mkdirSync(dirname(path), { recursive: true });
  const draft = `${path}.${randomUUID()}`;
  writeFileSync(draft, content, { mode: 0o600, flag: 'wx' });
  return draft;
}
