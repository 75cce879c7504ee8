/**
 * A whole gateway for one test file: the real application on a free port, with a separate database. `call` reads
 * replies and validates every one against the OpenAPI document, so that no test can forget to.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { Pool } from 'pg';
import { LedgerService } from '../../src/billing/ledger/ledger.service';
import { COMMAND_LINE } from '../../src/core/types/actor';
import { type Clock, systemClock } from '../../src/core/time/clock';
import { loadConfig } from '../../src/core/config/load-config';
import { createGateway } from '../../src/create-gateway';
import type { ApiKeySettingsInput } from '../../src/auth/api-keys/api-key-settings';
import { ApiKeyService } from '../../src/auth/api-keys/api-key.service';
import { OrganizationService } from '../../src/dashboard/organizations/organization.service';
import { DATABASE_WAS_LATE } from './child-process';
import { DashboardClient, type DashboardUserOptions } from './dashboard-client';
import { createTestDatabase, createTestPool, type TestDatabase } from './database';
import { serverSettings } from './servers';
import { assertMatchesDocument } from './openapi-validator';

/** An organization with credit and one key. */
export interface TestCustomer {
  readonly organizationId: string;
  readonly keyId: string;
  readonly key: string;
}

export interface CallOptions {
  readonly method?: string;
  readonly key?: string | null;
  readonly headers?: Record<string, string>;
  /** Sent as JSON; a string, bytes or a form are sent unchanged. */
  readonly body?: unknown;
  readonly signal?: AbortSignal;
}

export interface CallReply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly bytes: Buffer;
  /** The body as JSON; `undefined` when it is not JSON. */
  readonly json: any; // eslint-disable-line typescript/no-explicit-any -- tests look into replies of every shape
  /** The `data:` payloads of a stream, in order. */
  readonly events: string[];
}

export class TestGateway {
  private constructor(
    readonly app: NestFastifyApplication,
    readonly url: string,
    readonly database: TestDatabase,
    readonly pool: Pool,
    private readonly dataDir: string,
  ) {}

  /**
   * @param wire maps the database's URL to that of a proxy in front of it; by default there is none.
   * @param create creates the application, for tests that add modules to it
   */
  static async start(
    environment: Record<string, string> = {},
    clock: Clock = systemClock,
    wire = async (url: string): Promise<string> => url,
    create: typeof createGateway = createGateway,
  ): Promise<TestGateway> {
    const database = await createTestDatabase();
    const dataDir = mkdtempSync(join(tmpdir(), 'gateway-e2e-'));
    const wired = await wire(database.url);
    const config = loadConfig({
      ...serverSettings(wired, environment.REDIS_URL),
      DATA_DIR: dataDir,
      API_KEY_PEPPER: 'a-pepper-that-only-the-test-suite-uses',
      PORT: '0',
      MOCK_PROVIDER: 'true',
      // The tests share its event loop, and keep it busy themselves.
      OVERLOAD_CONCURRENCY: '0',
      // All tests use one IP address, and share one Redis.
      SIGN_IN_ATTEMPTS_PER_ADDRESS: '1000000',
      DASHBOARD_CHANGES_PER_MINUTE: '1000000',
      // Failures are scripted here, and deployment health is shared through Redis, which all runs share.
      CIRCUIT_BREAKER_FAILURES: '0',
      // Tests poll without a pause.
      LIMIT_KEY_READS_PER_SECOND: '1000000',
      ...environment,
    });
    const { databaseUrl, redisUrl } = config;
    if (databaseUrl === null || redisUrl === null) throw new Error('the test servers are not set');
    const app = await inTime(() => create({ ...config, databaseUrl, redisUrl }, false, clock));
    await app.listen(config.http.port, '127.0.0.1');
    const { port } = app.getHttpServer().address() as AddressInfo;
    const pool = createTestPool(environment.DATABASE_URL ?? database.url, 2);
    return new TestGateway(app, `http://127.0.0.1:${port}`, database, pool, dataDir);
  }

  async stop(): Promise<void> {
    await this.app.close();
    await this.pool.end();
    await this.database.drop();
    rmSync(this.dataDir, { recursive: true, force: true });
  }

  /** A new organization with `creditMicro` and a key with the given settings. */
  async customer(settings: ApiKeySettingsInput = {}, creditMicro = 10_000_000n): Promise<TestCustomer> {
    const organization = await this.app
      .get(OrganizationService, { strict: false })
      .create({ name: 'test' }, COMMAND_LINE);
    if (creditMicro > 0n) await this.ledger.topUp(organization.id, creditMicro, 'initial');
    const issued = await this.app.get(ApiKeyService, { strict: false }).create(organization.id, settings, COMMAND_LINE);
    return { organizationId: organization.id, keyId: issued.apiKey.id, key: issued.key };
  }

  /** A user signed in to the dashboard, by default as owner of a new organization. */
  dashboardUser(options?: DashboardUserOptions): Promise<DashboardClient> {
    return DashboardClient.signIn(this, options);
  }

  /** Sends one request and validates its whole reply against the OpenAPI document. */
  async call(path: string, options: CallOptions = {}): Promise<CallReply> {
    const { body, key } = options;
    const method = options.method ?? (body === undefined ? 'GET' : 'POST');
    const form = body instanceof FormData;
    const raw = typeof body === 'string' || body instanceof Uint8Array || form;
    const response = await fetch(`${this.url}${path}`, {
      method,
      headers: {
        ...(key != null && { authorization: `Bearer ${key}` }),
        ...(body !== undefined && !form && { 'content-type': 'application/json' }),
        ...options.headers,
      },
      body: body === undefined ? undefined : raw ? (body as string) : JSON.stringify(body),
      signal: options.signal,
    });
    const bytes = Buffer.from(await response.arrayBuffer());
    const text = bytes.toString();
    const reply = toReply(response, bytes, text);
    const seen = Object.fromEntries(response.headers);
    assertMatchesDocument({ method, path, status: reply.status, headers: seen, body: text });
    return reply;
  }

  /** The rows of a query, to inspect stored state. */
  async rows<Row extends object>(sql: string, parameters: unknown[] = []): Promise<Row[]> {
    return (await this.pool.query<Row>(sql, parameters)).rows;
  }

  /** How many transactions of the database wait for a lock. */
  async lockWaits(): Promise<number> {
    const waiting = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
    return (await this.rows(waiting)).length;
  }

  /** Resolves when at least `count` transactions wait for a lock. */
  async untilLockWaits(count: number): Promise<void> {
    while ((await this.lockWaits()) < count);
  }

  /** Every broken ledger invariant. */
  violations(): Promise<object[]> {
    return this.ledger.verify();
  }

  /** Without the time limits of the gateway's own connections, which a stalled machine exceeds. */
  private get ledger(): LedgerService {
    return new LedgerService(this.pool);
  }
}

/** Restarts it when a busy machine delayed its database, like a supervisor. */
async function inTime<App>(start: () => Promise<App>): Promise<App> {
  for (;;) {
    try {
      return await start();
    } catch (error) {
      if (!DATABASE_WAS_LATE.test(String(error))) throw error;
    }
  }
}

function toReply(response: Response, bytes: Buffer, text: string): CallReply {
  const type = response.headers.get('content-type') ?? '';
  return {
    status: response.status,
    headers: response.headers,
    text,
    bytes,
    json: type.startsWith('application/json') ? JSON.parse(text) : undefined,
    events: type.startsWith('text/event-stream') ? dataOf(text) : [],
  };
}

function dataOf(text: string): string[] {
  return text
    .split('\n\n')
    .filter((event) => event.startsWith('data: '))
    .map((event) => event.slice('data: '.length));
}
