import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import type { SealedRow, SealedTable } from '../core/secrets/reseal';

const FIND = 'SELECT sealed FROM organization_webhook_secret WHERE organization_id = $1';
const DESCRIBE = `
  SELECT created_at AS "createdAt", revealed_at AS "revealedAt"
    FROM organization_webhook_secret WHERE organization_id = $1`;
const CREATE = `
  INSERT INTO organization_webhook_secret (organization_id, sealed) VALUES ($1, $2) ON CONFLICT DO NOTHING`;
/** Concurrent requests wait for the row lock and then find the secret revealed. */
const REVEAL = `
  UPDATE organization_webhook_secret SET revealed_at = clock_timestamp()
   WHERE organization_id = $1 AND revealed_at IS NULL
  RETURNING sealed, created_at AS "createdAt", revealed_at AS "revealedAt"`;
const REPLACE = `
  INSERT INTO organization_webhook_secret AS s (organization_id, sealed, revealed_at)
  VALUES ($1, $2, clock_timestamp())
  ON CONFLICT (organization_id) DO UPDATE
    SET sealed = excluded.sealed, created_at = excluded.created_at, revealed_at = excluded.revealed_at
  RETURNING s.created_at AS "createdAt", s.revealed_at AS "revealedAt"`;

/** Over the primary key, in pages. */
const NEXT_FOR_RESEALING = `
  SELECT organization_id AS id, sealed FROM organization_webhook_secret
   WHERE $1::uuid IS NULL OR organization_id > $1::uuid ORDER BY organization_id LIMIT $2`;
const RESEAL = 'UPDATE organization_webhook_secret SET sealed = $3 WHERE organization_id = $1 AND sealed = $2';

/** The metadata of a secret, which may always be shown. */
export interface WebhookSecretFacts {
  readonly createdAt: Date;
  /** When it was shown in the dashboard; `null` before that. */
  readonly revealedAt: Date | null;
}

/** The metadata of a secret that is being shown. */
export interface RevealedSecretFacts extends WebhookSecretFacts {
  readonly revealedAt: Date;
}

/** Stores webhook secrets, encrypted. */
@Injectable()
export class WebhookSecretRepository {
  constructor(private readonly dataSource: DataSource) {}

  transaction<Result>(work: (manager: EntityManager) => Promise<Result>): Promise<Result> {
    return this.dataSource.transaction(work);
  }

  async find(organizationId: string): Promise<string | null> {
    const [row] = await this.dataSource.query<{ sealed: string }[]>(FIND, [organizationId]);
    return row?.sealed ?? null;
  }

  async describe(organizationId: string): Promise<WebhookSecretFacts | null> {
    const [row] = await this.dataSource.query<WebhookSecretFacts[]>(DESCRIBE, [organizationId]);
    return row ?? null;
  }

  /** Keeps an existing secret. */
  async create(
    organizationId: string,
    sealed: string,
    manager: EntityManager = this.dataSource.manager,
  ): Promise<void> {
    await manager.query(CREATE, [organizationId, sealed]);
  }

  /** Marks the secret as revealed; `null` when it already was. */
  async reveal(
    manager: EntityManager,
    organizationId: string,
  ): Promise<(RevealedSecretFacts & { readonly sealed: string }) | null> {
    type Row = RevealedSecretFacts & { readonly sealed: string };
    const [rows] = await manager.query<[Row[], number]>(REVEAL, [organizationId]);
    return rows[0] ?? null;
  }

  /** The new secret counts as revealed, since the caller is shown it. */
  async replace(manager: EntityManager, organizationId: string, sealed: string): Promise<RevealedSecretFacts> {
    const [row] = await manager.query<RevealedSecretFacts[]>(REPLACE, [organizationId, sealed]);
    return row as RevealedSecretFacts;
  }
}

/** The encryption context of an organization's secret. */
export function webhookSecretPurpose(organizationId: string): string {
  return `webhook secret of organization ${organizationId}`;
}

/** The secrets of all organizations, for re-encryption under a new key. */
export function webhookSecretTable(dataSource: DataSource): SealedTable {
  return {
    purposeOf: webhookSecretPurpose,
    next: (afterId, limit) =>
      dataSource.query<SealedRow[]>(NEXT_FOR_RESEALING, [afterId === '' ? null : afterId, limit]),
    replace: async ({ id, sealed }, resealed) => {
      await dataSource.query(RESEAL, [id, sealed, resealed]);
    },
  };
}
