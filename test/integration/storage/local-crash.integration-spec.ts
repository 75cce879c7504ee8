import { fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { systemClock } from '../../../src/core/time/clock';
import { LocalStorage } from '../../../src/core/storage/local-storage';
import { toObjectKey } from '../../../src/core/storage/object-key';

const DAY_MS = 24 * 3_600_000;
const key = toObjectKey({ kind: 'image', organizationId: randomUUID(), id: randomUUID() }, 0, 'image/png');

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'local-crash-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function open(clock = systemClock): LocalStorage {
  const options = { root, secret: 's'.repeat(32), signedUrlTtlSeconds: 60, baseUrl: () => 'http://127.0.0.1' };
  return new LocalStorage(options, clock);
}

/** Starts to write, and dies before it can clean up. */
async function crashHalfWay(): Promise<void> {
  const child = fork(join(__dirname, 'writer-process.ts'), [root, key], {
    execArgv: ['--require', join(__dirname, '../../harness/register-typescript.js')],
  });
  await once(child, 'message');
  child.kill('SIGKILL');
  await once(child, 'exit');
}

const drafts = () => readdirSync(join(root, '.drafts'));

describe('a process killed while it stores an object', () => {
  it('leaves no part of it to be seen, only a draft that is cleared away a day later', async () => {
    await crashHalfWay();
    expect(await open().openFile(key)).toBeNull();
    expect(drafts()).toHaveLength(1);
    await open().removeAbandonedDrafts();
    expect(drafts()).toHaveLength(1);
    await open({ ...systemClock, now: () => Date.now() + DAY_MS + 60_000 }).removeAbandonedDrafts();
    expect(drafts()).toEqual([]);
  });

  it('leaves the version before it as it was', async () => {
    await open().put(key, Buffer.from('before'));
    await crashHalfWay();
    const file = await open().openFile(key);
    expect(file?.sizeBytes).toBe(6);
    expect(file === null ? null : (await buffer(file.stream(0, 5))).toString()).toBe('before');
  });
});
