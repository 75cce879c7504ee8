/** Direct database access for the tests: creates customers and reads the ledger. */
import { randomUUID } from 'node:crypto';
import type { Pool } from 'pg';
import type { DataSource } from 'typeorm';
import type { LedgerViolation } from '../../src/billing/ledger/ledger-checks';
import { LedgerService } from '../../src/billing/ledger/ledger.service';
import { COMMAND_LINE } from '../../src/core/types/actor';
import { systemClock } from '../../src/core/time/clock';
import { createDataSource } from '../../src/core/database/data-source';
import { createMoneyPool } from '../../src/core/database/money-pool';
import type { ApiKeySettingsInput } from '../../src/auth/api-keys/api-key-settings';
import { ApiKeyService } from '../../src/auth/api-keys/api-key.service';
import { OrganizationService } from '../../src/dashboard/organizations/organization.service';
import { createTestPool, patientDatabase } from '../harness/database';
import { TEST_PEPPER } from '../harness/gateway-process';

export interface Customer {
  readonly organizationId: string;
  readonly keyId: string;
  readonly key: string;
}

/** New customers need no cache invalidation. */
const NO_SUBSCRIBERS = { publish: async () => 0 };
const ignore = (): void => undefined;

export class Operator {
  private constructor(
    private readonly dataSource: DataSource,
    private readonly moneyPool: Pool,
    /** Without the timeouts of requests: these queries read whole tables. */
    private readonly readPool: Pool,
    private readonly ledger: LedgerService,
  ) {}

  static async connect(databaseUrl: string): Promise<Operator> {
    // The test can block this process, and its load the server.
    const settings = { url: patientDatabase(databaseUrl), poolSize: 2, connectTimeoutMs: 60_000, onPoolError: ignore };
    const dataSource = await createDataSource(settings).initialize();
    const moneyPool = createMoneyPool(settings);
    const readPool = createTestPool(databaseUrl, 2);
    return new Operator(dataSource, moneyPool, readPool, new LedgerService(moneyPool));
  }

  /** A new organization with `creditMicro` and one key with the given settings. */
  async customer(creditMicro = 1_000_000_000n, settings: ApiKeySettingsInput = {}): Promise<Customer> {
    const { id } = await new OrganizationService(this.dataSource, NO_SUBSCRIBERS, systemClock).create(
      { name: 'faults' },
      COMMAND_LINE,
    );
    await this.ledger.topUp(id, creditMicro, randomUUID());
    const issued = await new ApiKeyService(this.dataSource, NO_SUBSCRIBERS, systemClock, TEST_PEPPER).create(
      id,
      settings,
      COMMAND_LINE,
    );
    return { organizationId: id, keyId: issued.apiKey.id, key: issued.key };
  }

  async rows<Row extends object>(statement: string, parameters: unknown[] = []): Promise<Row[]> {
    return (await this.readPool.query<Row>(statement, parameters)).rows;
  }

  /** The database's clock, in milliseconds since the epoch. */
  async now(): Promise<number> {
    const [row] = await this.rows<{ now: Date }>('SELECT clock_timestamp() AS now');
    return Number(row?.now.getTime());
  }

  violations(): Promise<LedgerViolation[]> {
    return this.ledger.verify();
  }

  /** Number of current holds. */
  async heldCount(): Promise<number> {
    const [row] = await this.rows<{ count: string }>(`SELECT count(*) FROM reservation WHERE state = 'held'`);
    return Number(row?.count);
  }

  /** Backdates the heartbeat of dead instances with holds, which is equivalent to waiting. */
  async letLeasesPass(): Promise<void> {
    await this.rows(
      `UPDATE gateway_instance g SET heartbeat_at = heartbeat_at - interval '21 seconds'
        WHERE EXISTS (SELECT FROM reservation r WHERE r.state = 'held' AND r.owner = g.id)`,
    );
    await this.rows(`UPDATE gateway_instance SET steady_since = steady_since - interval '1 hour'`);
  }

  /** Charges of a customer by client request id. Charges of zero are included. */
  async charges(organizationId: string): Promise<Map<string, number>> {
    const rows = await this.rows<{ id: string; charged: string }>(
      `SELECT r.id, r.charged_micro AS charged
         FROM reservation r LEFT JOIN ledger_entry e ON e.reservation_id = r.id AND e.kind = 'charge'
        WHERE r.organization_id = $1 AND r.state = 'settled' AND r.charged_micro = COALESCE(e.amount_micro, 0)`,
      [organizationId],
    );
    return new Map(rows.map(({ id, charged }) => [`req_${id.replaceAll('-', '')}`, Number(charged)]));
  }

  async close(): Promise<void> {
    await Promise.all([this.dataSource.destroy(), this.moneyPool.end(), this.readPool.end()]);
  }
}
