import { randomUUID } from 'node:crypto';
import { appendFile, link, mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { JobRecord } from './job-record';

/** A line of `log.jsonl`: an event at the provider. */
export type JobEvent = 'submitted' | 'repeated' | 'canceled' | 'opened' | 'delivered';

const PRIVATE = { mode: 0o600 } as const;
const LOG = 'log.jsonl';
/** How long the files of a job are kept. */
const KEPT_MS = 24 * 3_600_000;
const SWEEP_MS = 3_600_000;

/**
 * The provider's storage: a directory that outlives processes and is shared by several, like a remote provider. Every
 * change is one atomic file system operation, so a killed process leaves nothing half done.
 *
 * - `<id>.job`: an accepted job
 * - `<id>.canceled`: it was canceled
 * - `<id>.<n>.output`: an output that was made but not yet fetched
 * - `<id>.<operation>.tries`: a byte for each attempt that its script counts
 * - `log.jsonl`: a line for each event, without prompts
 */
export class JobDirectory {
  private sweptAtMs = 0;

  constructor(private readonly path: string) {}

  /** A job with the same id stays unchanged. */
  async accept(record: JobRecord): Promise<void> {
    await mkdir(this.path, { recursive: true, mode: 0o700 });
    await this.sweep(record.acceptedAtMs);
    // Written completely before it is linked to its name, which only one process can do.
    const isNew = await this.publish(JSON.stringify(record), (draft) => link(draft, this.file(record.id, 'job')));
    await this.log(isNew ? 'submitted' : 'repeated', record);
  }

  async find(id: string): Promise<JobRecord | null> {
    const text = await nullIfMissing(readFile(this.file(id, 'job'), 'utf8'));
    return text === null ? null : (JSON.parse(text) as JobRecord);
  }

  async cancel(record: JobRecord): Promise<void> {
    const isNew = await this.publish('', (draft) => link(draft, this.file(record.id, 'canceled')));
    if (isNew) await this.log('canceled', record);
  }

  async isCanceled(id: string): Promise<boolean> {
    return (await nullIfMissing(stat(this.file(id, 'canceled')))) !== null;
  }

  async readOutput(id: string, number: number): Promise<Buffer | null> {
    return nullIfMissing(readFile(this.file(id, `${number}.output`)));
  }

  async storeOutput(id: string, number: number, bytes: Buffer): Promise<void> {
    await this.publish(bytes, (draft) => rename(draft, this.file(id, `${number}.output`)));
  }

  async dropOutput(id: string, number: number): Promise<void> {
    await rm(this.file(id, `${number}.output`), { force: true });
  }

  /** The number of this attempt, from 1. */
  async countTry(id: string, what: 'submit' | 'open'): Promise<number> {
    await mkdir(this.path, { recursive: true, mode: 0o700 });
    const file = this.file(id, `${what}.tries`);
    await appendFile(file, '.', PRIVATE);
    return (await stat(file)).size;
  }

  async log(event: JobEvent, { id, token, output }: JobRecord, more: Record<string, unknown> = {}): Promise<void> {
    const line = JSON.stringify({ event, id, token, kind: output.kind, ...more, pid: process.pid });
    await appendFile(join(this.path, LOG), `${line}\n`, PRIVATE);
  }

  /** `false`: the name is taken. */
  private async publish(content: string | Buffer, commit: (draft: string) => Promise<void>): Promise<boolean> {
    const draft = join(this.path, `${randomUUID()}.draft`);
    try {
      await writeFile(draft, content, { ...PRIVATE, flag: 'wx' });
      await commit(draft);
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
      throw error;
    } finally {
      await rm(draft, { force: true });
    }
  }

  /** Removes the files of jobs older than a day. */
  private async sweep(nowMs: number): Promise<void> {
    if (nowMs - this.sweptAtMs < SWEEP_MS) return;
    this.sweptAtMs = nowMs;
    for (const name of await readdir(this.path)) {
      const file = join(this.path, name);
      const changedAtMs = (await nullIfMissing(stat(file)))?.mtimeMs ?? nowMs;
      if (nowMs - changedAtMs > KEPT_MS) await rm(file, { force: true });
    }
  }

  /** Ids are untrusted: the file is always inside this directory. */
  private file(id: string, suffix: string): string {
    return join(this.path, `${encodeURIComponent(id)}.${suffix}`);
  }
}

async function nullIfMissing<Value>(reading: Promise<Value>): Promise<Value | null> {
  try {
    return await reading;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}
