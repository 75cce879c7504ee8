import { createHash } from 'node:crypto';
import { gunzipSync } from 'node:zlib';
import { DayPartitions } from '../../src/core/partitions/day-partitions';
import { readDeploymentId } from '../../src/core/redis/deployment-identity';
import { toArchiveKey } from '../../src/core/storage/object-key';
import type { S3Storage } from '../../src/core/storage/s3-storage';
import { createDataDirectory } from '../harness/gateway-process';
import { createTestRedis } from '../harness/redis';
import { S3Server } from '../harness/s3-server';
import { serverSettings } from '../harness/servers';
import { endWorkers, WorkerProcess } from '../harness/worker-process';
import {
  type ArchiveStage,
  openBucket,
  readDayStates,
  RETENTION_DAYS,
  startArchiveStage,
} from '../integration/billing/archive-stage';
import { report } from './figures';

/** More than 8 MiB once compressed: an object of two parts. */
const LARGE_DAY = 200_000;

const dataDir = createDataDirectory();
let server: S3Server;
let bucket: S3Storage;
let stage: ArchiveStage;
beforeAll(async () => {
  server = await S3Server.start();
  bucket = await openBucket(server);
  stage = await startArchiveStage(bucket, { count: 340, days: RETENTION_DAYS + 2 }, LARGE_DAY);
});
afterEach(endWorkers);
afterAll(async () => {
  await stage.close();
  bucket.close();
  await server.stop();
  dataDir.remove();
});

/** Starts to archive at once. */
function startWorker(): Promise<WorkerProcess> {
  return WorkerProcess.start({
    databaseUrl: stage.url,
    redisUrl: createTestRedis().url,
    dataDir: dataDir.path,
    environment: {
      ...serverSettings(stage.url),
      LEDGER_RETENTION_DAYS: String(RETENTION_DAYS),
      S3_BUCKET: S3Server.BUCKET,
      S3_ENDPOINT: server.url,
      S3_ACCESS_KEY_ID: S3Server.CREDENTIALS.accessKeyId,
      S3_SECRET_ACCESS_KEY: S3Server.CREDENTIALS.secretAccessKey,
    },
  });
}

/** Of the lines of a day, as its archive has them. */
async function digestOf(day: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const { text } of stage.repository.readLines(day, 5_000)) hash.update(text);
  return hash.digest('hex');
}

describe('kill -9 of a process that archives a day', () => {
  it('loses and doubles nothing: the second part of its object was under way', async () => {
    const [before = { day: '', requests: 0 }, ...later] = await readDayStates(stage.pool);
    const { day, requests } = before;
    const key = toArchiveKey(await readDeploymentId(stage.dataSource), day);
    const digest = await digestOf(day);

    const secondPart = server.holdPart(2);
    const worker = await startWorker();
    await secondPart;
    expect(await worker.kill()).toEqual({ code: null, signal: 'SIGKILL' });

    expect((await readDayStates(stage.pool))[0]).toEqual({ day, requests, is_exported: false, is_removed: false });
    expect(await bucket.read(key)).toBeNull();
    expect(await stage.process().archive()).toEqual(['claimed']);

    // The ten minutes after which the claim of a dead process lapses.
    await stage.pool.query(`UPDATE ledger_archive SET claimed_until = claimed_until - interval '10 minutes'`);
    const exportedAtRemoval: (boolean | undefined)[] = [];
    const archive = () => {
      const partitions = new DayPartitions(stage.dataSource);
      const remove: typeof partitions.remove = async (...target) => {
        exportedAtRemoval.push((await readDayStates(stage.pool))[0]?.is_exported);
        return DayPartitions.prototype.remove.apply(partitions, target);
      };
      return stage.process({ partitions: Object.assign(partitions, { remove }) }).archive();
    };
    await Promise.all([archive(), archive()]);
    await archive();

    expect(await readDayStates(stage.pool)).toEqual(
      [before, ...later].map(({ day: each }) => ({ day: each, is_exported: true, is_removed: true, requests: 0 })),
    );
    expect(new Set(exportedAtRemoval)).toEqual(new Set([true]));
    const object = (await bucket.read(key)) ?? Buffer.alloc(0);
    expect(createHash('sha256').update(gunzipSync(object)).digest('hex')).toBe(digest);
    expect(await stage.engine.ledger.verify()).toEqual([]);
    report('archive', { requests, objectBytes: object.length });
  });
});
