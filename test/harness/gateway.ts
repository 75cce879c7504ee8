/**
 * A whole gateway for one test file: the real application on a port of its own, on a database of its own. Replies are
 * read through `call`, which checks every one of them against the document, so that no test can forget to.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { Pool } from 'pg';
import { LedgerService } from '../../src/billing/ledger.service';
import { COMMAND_LINE } from '../../src/common/actor';
import { type Clock, systemClock } from '../../src/common/clock';
import { loadConfig } from '../../src/config/load-config';
import { createGateway } from '../../src/create-gateway';
import type { ApiKeySettingsInput } from '../../src/organizations/api-key-settings';
import { ApiKeyService } from '../../src/organizations/api-key.service';
import { OrganizationService } from '../../src/organizations/organization.service';
import { DATABASE_WAS_LATE } from './child-process';
import { DashboardClient, type DashboardUserOptions } from './dashboard-client';
import { createTestDatabase, createTestPool, type TestDatabase } from './database';
import { createTestRedis } from './redis';
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
  /** Sent as JSON, or as it is when a string, bytes or a form. */
  readonly body?: unknown;
  readonly signal?: AbortSignal;
}

export interface CallReply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly bytes: Buffer;
  /** The body as JSON; `undefined` when it is none. */
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

  /** @param wire what lies between the gateway and its database, by the database's address; else nothing does. */
  static async start(
    environment: Record<string, string> = {},
    clock: Clock = systemClock,
    wire = async (url: string): Promise<string> => url,
  ): Promise<TestGateway> {
    const database = await createTestDatabase();
    const dataDir = mkdtempSync(join(tmpdir(), 'gateway-e2e-'));
    const config = loadConfig({
      DATABASE_URL: await wire(database.url),
      REDIS_URL: createTestRedis().url,
      DATA_DIR: dataDir,
      API_KEY_PEPPER: 'a-pepper-that-only-tests-use-and-nobody-else',
      PORT: '0',
      MOCK_PROVIDER: 'true',
      // The tests share its event loop, and keep it busy themselves.
      OVERLOAD_CONCURRENCY: '0',
      // All tests come from one address, to a Redis that they share.
      SIGN_IN_ATTEMPTS_PER_ADDRESS: '1000000',
      // Failures are scripted here, and the health of a deployment is shared through Redis, which the runs share.
      CIRCUIT_BREAKER_FAILURES: '0',
      ...environment,
    });
    const { databaseUrl, redisUrl } = config;
    if (databaseUrl === null || redisUrl === null) throw new Error('the test servers are not set');
    const app = await inTime(() => createGateway({ ...config, databaseUrl, redisUrl }, false, clock));
    await app.listen(0, '127.0.0.1');
    const { port } = app.getHttpServer().address() as AddressInfo;
    const pool = createTestPool(database.url, 2);
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
    if (creditMicro > 0n) {
      await this.app.get(LedgerService, { strict: false }).topUp(organization.id, creditMicro, 'initial');
    }
    const issued = await this.app.get(ApiKeyService, { strict: false }).create(organization.id, settings, COMMAND_LINE);
    return { organizationId: organization.id, keyId: issued.apiKey.id, key: issued.key };
  }

  /** Somebody signed in to the dashboard, as owner of a new organization unless told otherwise. */
  dashboardUser(options?: DashboardUserOptions): Promise<DashboardClient> {
    return DashboardClient.signIn(this, options);
  }

  /** One request and its whole reply, checked against the document. */
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

  /** The rows of a query, for looking at what is left behind. */
  async rows<Row extends object>(sql: string, parameters: unknown[] = []): Promise<Row[]> {
    return (await this.pool.query<Row>(sql, parameters)).rows;
  }

  /** Every broken invariant of the books. */
  violations(): Promise<object[]> {
    return this.app.get(LedgerService, { strict: false }).verify();
  }
}

/** Starts it again when a busy machine kept its database from answering in time, as whoever runs one does. */
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
