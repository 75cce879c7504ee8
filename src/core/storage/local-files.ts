/** Atomic file writes that survive crashes of the process or the machine. */
import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, mkdir, open, readdir, rename, rm, rmdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { hasErrorCode } from '../secrets/private-files';
import { storageUnavailable } from './storage-failure';

/** Longer than any write: older drafts belong to dead processes. */
const ABANDONED_MS = 24 * 3_600_000;
const FILE_MODE = 0o600;
const FOLDER_MODE = 0o700;
/** `removeFile` may remove the empty folder between its creation and the rename. */
const MOVE_ATTEMPTS = 50;

/**
 * Writes to `drafts`, syncs, and renames to `path`; both must be on one file system.
 * @throws GatewayError `service_unavailable`, or the error of the body; then `path` is unchanged.
 */
export async function writeFileWhole(path: string, body: Buffer | Readable, drafts: string): Promise<number> {
  const draft = join(drafts, randomUUID());
  try {
    const sizeBytes = await writeDraft(draft, body);
    await onDisk(() => moveInto(draft, path));
    return sizeBytes;
  } catch (error) {
    await rm(draft, { force: true }).catch(() => undefined);
    throw error;
  }
}

/** Opens a regular file; `null` when there is none. @throws GatewayError `service_unavailable`. */
export async function openFile(path: string): Promise<FileHandle | null> {
  return onDisk(async () => {
    try {
      return await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
    } catch (error) {
      if (isMissing(error) || hasErrorCode(error, 'ELOOP')) return null;
      throw error;
    }
  });
}

/** Removes a file if it exists, and its folder if that becomes empty. @throws GatewayError `service_unavailable`. */
export async function removeFile(path: string): Promise<void> {
  await onDisk(async () => {
    await rm(path, { force: true });
    await removeIfEmpty(dirname(path));
  });
}

/** Removes the drafts of dead processes. Young drafts stay, because other processes may share the folder. */
export async function removeAbandonedDrafts(drafts: string, nowMs: number): Promise<void> {
  const names = await readdir(drafts).catch((error: unknown) => {
    if (isMissing(error)) return [];
    throw error;
  });
  for (const name of names) {
    const path = join(drafts, name);
    const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: nowMs }));
    if (nowMs - mtimeMs > ABANDONED_MS) await rm(path, { force: true });
  }
}

async function writeDraft(draft: string, body: Buffer | Readable): Promise<number> {
  const file = await onDisk(() => createDraft(draft));
  try {
    let sizeBytes = 0;
    // Errors of the body are not storage failures and are passed on.
    for await (const piece of Buffer.isBuffer(body) ? [body] : (body as AsyncIterable<Buffer>)) {
      await onDisk(() => file.writeFile(piece));
      sizeBytes += piece.length;
    }
    await onDisk(() => file.sync());
    return sizeBytes;
  } finally {
    await file.close();
  }
}

async function createDraft(draft: string): Promise<FileHandle> {
  await mkdir(dirname(draft), { recursive: true, mode: FOLDER_MODE });
  return open(draft, 'wx', FILE_MODE);
}

async function moveInto(draft: string, path: string): Promise<void> {
  const folder = dirname(path);
  const firstNew = await retryMissing(async () => {
    const created = await mkdir(folder, { recursive: true, mode: FOLDER_MODE });
    await rename(draft, path);
    return created;
  });
  try {
    await syncFolders(folder, firstNew === undefined ? folder : dirname(firstNew));
  } catch (error) {
    // Already deleted with its folder.
    if (!isMissing(error)) throw error;
  }
}

async function retryMissing<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (!isMissing(error) || attempt === MOVE_ATTEMPTS) throw error;
    }
  }
}

/** Makes a new name durable: syncs its folder and all newly created parents. */
async function syncFolders(from: string, to: string): Promise<void> {
  for (let folder = from; ; folder = dirname(folder)) {
    const handle = await open(folder, constants.O_RDONLY);
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
    if (folder === to) return;
  }
}

async function removeIfEmpty(folder: string): Promise<void> {
  try {
    await rmdir(folder);
  } catch (error) {
    if (!isMissing(error) && !hasErrorCode(error, 'ENOTEMPTY') && !hasErrorCode(error, 'EEXIST')) throw error;
  }
}

async function onDisk<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw storageUnavailable(error);
  }
}

function isMissing(error: unknown): boolean {
  return hasErrorCode(error, 'ENOENT') || hasErrorCode(error, 'ENOTDIR');
}
