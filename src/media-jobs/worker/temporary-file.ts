import { randomUUID } from 'node:crypto';
import { type FileHandle, open, unlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';

/** A failure of the local disk, not of the source of the bytes. */
export class LocalFileError extends Error {
  override readonly name = 'LocalFileError';
}

/** The source exceeds the size limit. */
export class TooManyBytesError extends Error {
  override readonly name = 'TooManyBytesError';
}

/** An unlinked file, so that its space is freed however the process ends. */
export class TemporaryFile {
  private bytes = 0;

  private constructor(private readonly handle: FileHandle) {}

  /** @throws LocalFileError */
  static async create(): Promise<TemporaryFile> {
    return local(async () => {
      const path = join(tmpdir(), `gateway-artifact-${randomUUID()}`);
      // Never an existing file or link, which others may have put there.
      const handle = await open(path, 'wx+', 0o600);
      await unlink(path);
      return new TemporaryFile(handle);
    });
  }

  get sizeBytes(): number {
    return this.bytes;
  }

  get descriptor(): number {
    return this.handle.fd;
  }

  /** @throws TooManyBytesError, LocalFileError, or what the source fails with */
  async fill(source: Readable, maxBytes: number): Promise<void> {
    for await (const chunk of source as AsyncIterable<Buffer>) {
      if (this.bytes + chunk.length > maxBytes) throw new TooManyBytesError(`more than ${maxBytes} bytes`);
      await local(() => this.handle.writeFile(chunk));
      this.bytes += chunk.length;
    }
  }

  /** Streams the whole file. May be called repeatedly. */
  read(): Readable {
    return this.handle.createReadStream({ start: 0, autoClose: false });
  }

  async close(): Promise<void> {
    await this.handle.close();
  }
}

async function local<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw new LocalFileError('The temporary file failed.', { cause: error });
  }
}
