import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { requireWritableDirectory } from '../secrets/private-files';
import type { Clock } from '../time/clock';
import { openFile, removeAbandonedDrafts, removeFile, writeFileWhole } from './local-files';
import { isObjectKey, requireObjectKey, requireStoredKey } from './object-key';
import { type ObjectStorage, type SignedUrl, validForSeconds } from './object-storage';
import { storageUnavailable } from './storage-failure';
import { UrlSignature } from './url-signature';

/** The path of the signed URLs; served by `http/stored-object.controller.ts`. */
const OBJECTS_PATH = '/v1/objects/';

export interface LocalStorageOptions {
  /** Absolute path of the folder that holds the objects. */
  readonly root: string;
  /** At least 32 characters. */
  readonly secret: string;
  readonly signedUrlTtlSeconds: number;
  /** Public base URL of the gateway, without a trailing slash; read for each signed URL. */
  readonly baseUrl: () => string;
}

/** An open file. The receiver must stream it to its end, destroy that stream, or close it. */
export interface StoredFile {
  readonly sizeBytes: number;
  /** Changes with every write of the object. */
  readonly entityTag: string;
  /** Both ends included. */
  stream(first: number, last: number): Readable;
  close(): Promise<void>;
}

/** Objects as local files, or files on a shared volume; the gateway itself serves them. */
export class LocalStorage implements ObjectStorage {
  private readonly signature: UrlSignature;
  /** Folder of incomplete files. Its name is not a valid first segment of a key. */
  private readonly drafts: string;

  constructor(
    private readonly options: LocalStorageOptions,
    private readonly clock: Clock,
  ) {
    this.signature = new UrlSignature(options.secret);
    this.drafts = join(options.root, '.drafts');
  }

  async put(key: string, body: Buffer | Readable): Promise<{ sizeBytes: number }> {
    return { sizeBytes: await writeFileWhole(this.pathOf(key), body, this.drafts) };
  }

  async read(key: string): Promise<Buffer | null> {
    const file = await openFile(this.pathOf(key));
    if (file === null) return null;
    try {
      return await file.readFile();
    } catch (error) {
      throw storageUnavailable(error);
    } finally {
      await file.close();
    }
  }

  async open(key: string, signal: AbortSignal): Promise<Readable | null> {
    return (await openFile(this.pathOf(key)))?.createReadStream({ signal }) ?? null;
  }

  async sign(key: string, keptUntil?: Date): Promise<SignedUrl> {
    const nowSeconds = Math.floor(this.clock.now() / 1_000);
    const expires = nowSeconds + validForSeconds(this.options.signedUrlTtlSeconds, nowSeconds, keptUntil);
    const signature = this.signature.sign(requireObjectKey(key), expires);
    const url = `${this.options.baseUrl()}${OBJECTS_PATH}${key}?expires=${expires}&signature=${signature}`;
    return { url, expiresAt: new Date(expires * 1_000) };
  }

  keyOf(url: string): string | null {
    const parsed = URL.parse(url);
    // The host is ignored: the gateway may have had another name when the URL was signed.
    const at = parsed?.pathname.indexOf(OBJECTS_PATH) ?? -1;
    if (parsed === null || at === -1 || !parsed.searchParams.has('signature')) return null;
    const key = parsed.pathname.slice(at + OBJECTS_PATH.length);
    return isObjectKey(key) ? key : null;
  }

  async delete(key: string): Promise<void> {
    await removeFile(this.pathOf(key));
  }

  close(): void {
    // Files in transfer are closed by their streams.
  }

  /**
   * The remaining validity of a URL in seconds; 0 when its signature is wrong or it has expired.
   * @param expires from the URL: Unix time in seconds
   */
  secondsLeft(key: string, expires: unknown, signature: unknown): number {
    if (typeof signature !== 'string') return 0;
    // Only the format that `sign` produces.
    if (typeof expires !== 'string' || !/^[1-9]\d{0,12}$/.test(expires)) return 0;
    if (!this.signature.isValid(key, Number(expires), signature)) return 0;
    return Math.max(0, Math.ceil(Number(expires) - this.clock.now() / 1_000));
  }

  /** `null`: the object does not exist. @throws GatewayError `service_unavailable`. */
  async openFile(key: string): Promise<StoredFile | null> {
    const file = await openFile(this.pathOf(key));
    if (file === null) return null;
    const { size, ino, mtimeNs } = await file.stat({ bigint: true });
    return {
      sizeBytes: Number(size),
      entityTag: `"${ino.toString(36)}-${mtimeNs.toString(36)}-${size.toString(36)}"`,
      // For an empty file `last` is -1, which Node refuses; the range from 0 to 0 is empty.
      stream: (first, last) => file.createReadStream({ start: first, end: Math.max(first, last) }),
      close: () => file.close(),
    };
  }

  /** @throws DataDirectoryError: otherwise every upload would fail. */
  requireWritable(): void {
    requireWritableDirectory(this.options.root);
  }

  /** Removes drafts left by dead processes. */
  removeAbandonedDrafts(): Promise<void> {
    return removeAbandonedDrafts(this.drafts, this.clock.now());
  }

  private pathOf(key: string): string {
    return join(this.options.root, requireStoredKey(key));
  }
}
