import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { systemClock } from '../../../src/core/time/clock';
import { LocalStorage } from '../../../src/core/storage/local-storage';

/**
 * A process that stores an object and is killed before it ends: `root` and `key` as arguments. Says when it is half
 * way.
 */
const HALF = Buffer.alloc(1024 * 1024);
const [root = '', key = ''] = process.argv.slice(2);
const options = { root, secret: 's'.repeat(32), signedUrlTtlSeconds: 60, baseUrl: () => 'http://127.0.0.1' };

function draftBytes(): number {
  const folder = join(root, '.drafts');
  try {
    return Math.max(0, ...readdirSync(folder).map((name) => statSync(join(folder, name)).size));
  } catch {
    return 0;
  }
}

async function main(): Promise<void> {
  const body = new PassThrough();
  void new LocalStorage(options, systemClock).put(key, body);
  body.write(HALF);
  while (draftBytes() < HALF.length) await nextIteration();
  process.send?.('half');
}

void main();
