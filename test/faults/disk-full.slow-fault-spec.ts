import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { endChildren } from '../harness/child-process';
import { createTestDatabase, type TestDatabase } from '../harness/database';
import { GatewayProcess } from '../harness/gateway-process';
import { createTestRedis } from '../harness/redis';
import { chat, chatBody, type ChatCall, ChatLoad, type Exchange, summarize } from './chat-load';
import { allowedMs, report, until } from './figures';
import { type Customer, Operator } from './operator';
import { PostgresProcess } from './postgres-process';
import { describeWithSmallDisk, SmallDisk } from './small-disk';

const CALLERS = 16;
/** A new cluster with the schema takes 90, of which 32 are write-ahead log. */
const DATABASE_MIB = 300;
const OUTAGE_MS = 3_000;
const BACK_WITHIN_MS = 2_000;

describeWithSmallDisk(() => {
  describe('a gateway whose PostgreSQL has no space left (F-67)', () => {
    let disk: SmallDisk;
    let postgres: PostgresProcess;
    let operator: Operator;
    let gateway: GatewayProcess;
    let customer: Customer;

    beforeAll(async () => {
      disk = SmallDisk.mount(DATABASE_MIB);
      postgres = await PostgresProcess.create(disk);
      gateway = await GatewayProcess.start({ databaseUrl: postgres.url, redisUrl: createTestRedis().url });
      operator = await Operator.connect(postgres.url);
    });
    beforeEach(async () => {
      customer = await operator.customer();
    });
    afterAll(async () => {
      await operator.close();
      await endChildren();
      await postgres.remove();
    });

    const call = (index: number): ChatCall => ({
      url: gateway.url,
      key: customer.key,
      body: index % 3 === 0 ? chatBody('chunks=20 delay=10ms', { stream: true }) : chatBody('delay=0'),
    });

    it.each<[string, () => Promise<void>]>([
      // Updates still find space within their pages for a while, new rows do not.
      ['for rows answers 503 and recovers by itself', async () => undefined],
      ['for its log answers 503 while PostgreSQL is down, and recovers with it', () => crashByLog()],
    ])(
      '%s, without a lost or double charge',
      async (_, worsen) => {
        const load = new ChatLoad(CALLERS, call);
        await until('answers', 20_000, () => load.exchanges.some(({ outcome }) => outcome === 'complete'));
        disk.fill();
        await worsen();
        const refusedFrom = load.exchanges.length;
        await until('refusals', 60_000, () => count(load.exchanges.slice(refusedFrom), '503 service_unavailable') > 50);
        const refusal = await until503();
        await delay(OUTAGE_MS);
        const wasUp = postgres.isUp;
        const probe = await gateway.probe();
        disk.free();
        await postgres.start();
        const acceptedAtMs = performance.now();
        await until('the first 200', BACK_WITHIN_MS, async () => (await chat(call(1))).outcome === 'complete');
        const backMs = performance.now() - acceptedAtMs;
        await delay(BACK_WITHIN_MS);
        const exchanges = await load.stop();
        await until('the end of all holds', 60_000, async () => (await operator.heldCount()) === 0);

        const charges = await operator.charges(customer.organizationId);
        const lost = exchanges.filter(
          ({ outcome, requestId, costMicro }) => outcome === 'complete' && charges.get(requestId ?? '') !== costMicro,
        );
        const ghosts = exchanges.filter(
          ({ outcome, streamed, requestId }) => outcome === 'refused' && !streamed && charges.has(requestId ?? ''),
        );
        report('F-67, PostgreSQL', { clients: summarize(exchanges), wasUp, probe, backMs: Math.round(backMs) });
        expect(refusal).toMatchObject({ code: 'service_unavailable', retryAfter: expect.stringMatching(/^\d+$/) });
        expect(unexpectedOf(exchanges)).toEqual([]);
        expect({ lost, ghosts }).toEqual({ lost: [], ghosts: [] });
        expect(gateway.child.hasExited).toBe(false);
        expect(backMs).toBeLessThanOrEqual(allowedMs(BACK_WITHIN_MS));
        expect(await operator.violations()).toEqual([]);
      },
      300_000,
    );

    /** The next segment of the log cannot be created: PostgreSQL panics, and cannot start until there is space. */
    async function crashByLog(): Promise<void> {
      await until('the end of PostgreSQL', 60_000, async () => {
        const client = new Client({ connectionString: postgres.url, connectionTimeoutMillis: 5_000 });
        client.on('error', () => undefined);
        try {
          await client.connect();
          for (;;) await client.query('SELECT pg_logical_emit_message(false, $1, $2), pg_switch_wal()', ['test', 'x']);
        } catch {
          return !postgres.isUp;
        } finally {
          await client.end().catch(() => undefined);
        }
      });
    }

    async function until503(): Promise<{ readonly code: unknown; readonly retryAfter: string | null }> {
      for (;;) {
        const response = await fetch(`${gateway.url}/v1/chat/completions`, {
          method: 'POST',
          headers: { authorization: `Bearer ${customer.key}`, 'content-type': 'application/json' },
          body: JSON.stringify(chatBody('delay=0')),
        });
        const body = (await response.json()) as { error?: { code: unknown } };
        if (response.status === 503) {
          return { code: body.error?.code, retryAfter: response.headers.get('retry-after') };
        }
      }
    }
  });

  describe('a gateway whose object storage has no space left (F-67)', () => {
    let disk: SmallDisk;
    let database: TestDatabase;
    let operator: Operator;
    let gateway: GatewayProcess;
    let customer: Customer;

    beforeAll(async () => {
      disk = SmallDisk.mount(16);
      database = await createTestDatabase();
      operator = await Operator.connect(database.url);
      customer = await operator.customer();
      gateway = await GatewayProcess.start({
        databaseUrl: database.url,
        redisUrl: createTestRedis().url,
        dataDir: disk.path,
        environment: { STORAGE: 'local' },
      });
    });
    afterAll(async () => {
      await endChildren();
      await operator.close();
      await database.drop();
      disk.remove();
    });

    it('answers 503 to an image, free of charge and without a draft, and stores again when there is space', async () => {
      const before = await image();
      expect(before.status).toBe(200);
      disk.fill();
      const refused = await image();
      const plain = await chat({ url: gateway.url, key: customer.key, body: chatBody('delay=0') });
      const drafts = readdirSync(join(disk.path, 'objects', '.drafts'));
      disk.free();
      let after = await image();
      // For five seconds no other image is made that could probably not be stored.
      await until('a stored image', 10_000, async () => (after = await image()).status === 200);

      expect(refused).toEqual({
        status: 503,
        code: 'service_unavailable',
        retryAfter: expect.stringMatching(/^\d+$/),
        requestId: expect.any(String),
      });
      expect(plain.outcome).toBe('complete');
      expect(drafts).toEqual([]);
      await until('both lines of the log', 10_000, () =>
        /storage_unavailable.*ENOSPC[^]*storage_available/.test(gateway.log),
      );
      await until('the end of all holds', 30_000, async () => (await operator.heldCount()) === 0);
      const charges = await operator.charges(customer.organizationId);
      expect([before, refused, after].map(({ requestId }) => (charges.get(requestId ?? '') ?? 0) > 0)).toEqual([
        true,
        false,
        true,
      ]);
      expect(await operator.violations()).toEqual([]);
    });

    async function image(): Promise<{
      status: number;
      code: unknown;
      retryAfter: string | null;
      requestId: string | null;
    }> {
      const response = await fetch(`${gateway.url}/v1/images/generations`, {
        method: 'POST',
        headers: { authorization: `Bearer ${customer.key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'mock/image-1', prompt: 'a cat', response_format: 'url' }),
      });
      const body = (await response.json()) as { error?: { code: unknown } };
      return {
        status: response.status,
        code: body.error?.code,
        retryAfter: response.headers.get('retry-after'),
        requestId: response.headers.get('x-request-id'),
      };
    }
  });
});

function count(exchanges: readonly Exchange[], ending: string): number {
  return summarize(exchanges)[ending] ?? 0;
}

/** In a started stream, the refusal is an event. */
function unexpectedOf(exchanges: readonly Exchange[]): readonly string[] {
  return Object.keys(summarize(exchanges)).filter(
    (ending) => !/^(complete|(200|503) service_unavailable)$/.test(ending),
  );
}
