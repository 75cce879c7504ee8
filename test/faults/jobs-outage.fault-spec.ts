import { JobGateway, untilServed } from '../e2e/create-video/job-gateway';
import { createTestDatabase, type TestDatabase } from '../harness/database';
import { FaultProxy } from '../harness/fault-proxy';
import type { CallReply } from '../harness/gateway';
import { allowedMs, report } from './figures';
import { RedisProcess } from './redis-process';

const WITHOUT_REDIS_MS = allowedMs(300);
const WITHOUT_DATABASE_MS = allowedMs(2_500);

async function timed(call: Promise<CallReply>): Promise<{ readonly reply: CallReply; readonly tookMs: number }> {
  const startedAtMs = performance.now();
  const reply = await call;
  return { reply, tookMs: Math.round(performance.now() - startedAtMs) };
}

describe('jobs without Redis', () => {
  let redis: RedisProcess;
  let served: JobGateway;

  beforeAll(async () => {
    redis = await RedisProcess.start();
    served = await JobGateway.start({ REDIS_URL: redis.url });
  });
  afterAll(async () => {
    await redis.stop();
    await served.stop();
  });

  it.each<[string, () => Promise<void> | void, () => Promise<void> | void]>([
    ['hangs', () => redis.suspend(), () => redis.resume()],
    ['is killed', () => redis.stop(), () => redis.restart()],
  ])('can be read and deleted when it %s; submissions are refused, except replays', async (what, take, giveBack) => {
    const submitted = async (): Promise<string> => (await untilServed(() => served.createVideo())).json.id as string;
    const [running, ended] = [await submitted(), await submitted()];
    await served.succeed(ended);
    const key = `before-it-${what.replace(' ', '-')}`;
    const before = await untilServed(() => served.createVideo({}, { key }));
    const held = await served.balance();
    await take();
    try {
      const refused = await timed(served.createVideo());
      expect([refused.reply.status, refused.reply.json.error.code]).toEqual([503, 'service_unavailable']);
      expect(refused.tookMs).toBeLessThanOrEqual(WITHOUT_REDIS_MS);
      expect(await served.balance()).toBe(held);
      const again = await served.createVideo({}, { key });
      expect([again.status, again.text]).toEqual([202, before.text]);
      const read = await timed(served.getJob(running));
      expect([read.reply.status, read.reply.json.status]).toEqual([200, 'queued']);
      expect((await served.getJob(ended)).json.artifacts).toHaveLength(1);
      expect((await served.deleteVideo(running)).status).toBe(200);
      expect((await served.deleteVideo(ended)).status).toBe(204);
      report(`jobs when Redis ${what}`, { refusedMs: refused.tookMs, readMs: read.tookMs });
    } finally {
      await giveBack();
    }
    expect((await untilServed(() => served.createVideo())).status).toBe(202);
  });
});

describe('jobs without PostgreSQL', () => {
  let database: TestDatabase;
  let wire: FaultProxy;
  let served: JobGateway;

  beforeAll(async () => {
    database = await createTestDatabase();
    wire = await FaultProxy.start(database.url);
    served = await JobGateway.start({ DATABASE_URL: wire.url });
  });
  afterAll(async () => {
    await served.stop();
    await wire.close();
    await database.drop();
  });

  it.each<[string, () => void]>([
    ['hangs', () => wire.fail('both', { hang: true })],
    ['refuses connections', () => wire.cutOff()],
  ])('return 503 in time on every route when it %s', async (what, take) => {
    const id = (await untilServed(() => served.createVideo())).json.id as string;
    take();
    try {
      const calls = await Promise.all([
        timed(served.createVideo()),
        timed(served.getJob(id)),
        timed(served.deleteVideo(id)),
      ]);
      report(`jobs when PostgreSQL ${what}`, { tookMs: calls.map(({ tookMs }) => tookMs) });
      for (const { reply, tookMs } of calls) {
        expect([reply.status, reply.json.error.code]).toEqual([503, 'service_unavailable']);
        expect(reply.headers.get('retry-after')).not.toBeNull();
        expect(tookMs).toBeLessThanOrEqual(WITHOUT_DATABASE_MS);
      }
    } finally {
      wire.heal();
    }
    expect((await untilServed(() => served.getJob(id))).json.status).toBe('queued');
  });
});
