import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';

const FIND = 'SELECT sealed FROM organization_webhook_secret WHERE organization_id = $1';
const DESCRIBE = `
  SELECT created_at AS "createdAt", revealed_at AS "revealedAt"
    FROM organization_webhook_secret WHERE organization_id = $1`;
const CREATE = `
  INSERT INTO organization_webhook_secret (organization_id, sealed) VALUES ($1, $2) ON CONFLICT DO NOTHING`;
/** Of those that come at once, the others wait for the row and find it revealed. */
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

/** What may be told of a secret at any time. */
export interface WebhookSecretFacts {
  readonly createdAt: Date;
  /** When it was told in the dashboard; `null`: not yet. */
  readonly revealedAt: Date | null;
}

/** The same of a secret that is being told. */
export interface ToldSecretFacts extends WebhookSecretFacts {
  readonly revealedAt: Date;
}

/** Webhook secrets as they are stored: sealed. */
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

  /** Changes nothing where there is one. */
  async create(
    organizationId: string,
    sealed: string,
    manager: EntityManager = this.dataSource.manager,
  ): Promise<void> {
    await manager.query(CREATE, [organizationId, sealed]);
  }

  /** Notes that a secret is being told; `null`: it has been told before. */
  async reveal(
    manager: EntityManager,
    organizationId: string,
  ): Promise<(ToldSecretFacts & { readonly sealed: string }) | null> {
    type Row = ToldSecretFacts & { readonly sealed: string };
    const [rows] = await manager.query<[Row[], number]>(REVEAL, [organizationId]);
    return rows[0] ?? null;
  }

  /** Whoever replaces a secret is told the new one. */
  async replace(manager: EntityManager, organizationId: string, sealed: string): Promise<ToldSecretFacts> {
    const [row] = await manager.query<ToldSecretFacts[]>(REPLACE, [organizationId, sealed]);
    return row as ToldSecretFacts;
  }
}
