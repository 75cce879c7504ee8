/** What the tests know and do beside the gateways: customers are made, and the books are read, in the database itself. */
import { randomUUID } from 'node:crypto';
import type { Pool } from 'pg';
import type { DataSource } from 'typeorm';
import { LedgerService, type LedgerViolation } from '../../src/billing/ledger.service';
import { COMMAND_LINE } from '../../src/common/actor';
import { systemClock } from '../../src/common/clock';
import { createDataSource } from '../../src/database/data-source';
import { createMoneyPool } from '../../src/database/money-pool';
import type { ApiKeySettingsInput } from '../../src/organizations/api-key-settings';
import { ApiKeyService } from '../../src/organizations/api-key.service';
import { OrganizationService } from '../../src/organizations/organization.service';
import { createTestPool } from '../harness/database';
import { TEST_PEPPER } from '../harness/gateway-process';

export interface Customer {
  readonly organizationId: string;
  readonly keyId: string;
  readonly key: string;
}

/** New customers need no invalidation of what gateways remember. */
const NOBODY = { publish: async () => 0 };
const ignore = (): void => undefined;

export class Operator {
  private constructor(
    private readonly dataSource: DataSource,
    private readonly moneyPool: Pool,
    /** Without the time limits of requests: what is asked here reads whole tables. */
    private readonly readPool: Pool,
    private readonly ledger: LedgerService,
  ) {}

  static async connect(databaseUrl: string): Promise<Operator> {
    // Its process may be held up by what else the test does.
    const settings = { url: databaseUrl, poolSize: 2, connectTimeoutMs: 60_000, onPoolError: ignore };
    const dataSource = await createDataSource(settings).initialize();
    const moneyPool = createMoneyPool(settings);
    const readPool = createTestPool(databaseUrl, 2);
    return new Operator(dataSource, moneyPool, readPool, new LedgerService(moneyPool));
  }

  /** A new organization with `creditMicro` and one key with the given settings. */
  async customer(creditMicro = 1_000_000_000n, settings: ApiKeySettingsInput = {}): Promise<Customer> {
    const { id } = await new OrganizationService(this.dataSource, NOBODY, systemClock).create(
      { name: 'faults' },
      COMMAND_LINE,
    );
    await this.ledger.topUp(id, creditMicro, randomUUID());
    const issued = await new ApiKeyService(this.dataSource, NOBODY, systemClock, TEST_PEPPER).create(
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

  /** How many reservations are held at the moment. */
  async heldCount(): Promise<number> {
    const [row] = await this.rows<{ count: string }>(`SELECT count(*) FROM reservation WHERE state = 'held'`);
    return Number(row?.count);
  }

  /** Moves the last sign of life of the dead who still hold something into the past, which is the same as waiting. */
  async letLeasesPass(): Promise<void> {
    await this.rows(
      `UPDATE gateway_instance g SET heartbeat_at = heartbeat_at - interval '21 seconds'
        WHERE EXISTS (SELECT FROM reservation r WHERE r.state = 'held' AND r.owner = g.id)`,
    );
    await this.rows(`UPDATE gateway_instance SET steady_since = steady_since - interval '1 hour'`);
  }

  /** What a customer was charged, by the id of the request as its client knows it. A charge of nothing is one too. */
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
