import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';

const FIND = 'SELECT sealed FROM organization_webhook_secret WHERE organization_id = $1';
const CREATE = `
  INSERT INTO organization_webhook_secret (organization_id, sealed) VALUES ($1, $2) ON CONFLICT DO NOTHING`;
const REPLACE = `
  INSERT INTO organization_webhook_secret (organization_id, sealed) VALUES ($1, $2)
  ON CONFLICT (organization_id) DO UPDATE SET sealed = excluded.sealed, created_at = excluded.created_at`;

/** Webhook secrets as they are stored: sealed. */
@Injectable()
export class WebhookSecretRepository {
  constructor(private readonly dataSource: DataSource) {}

  async find(organizationId: string): Promise<string | null> {
    const [row] = await this.dataSource.query<{ sealed: string }[]>(FIND, [organizationId]);
    return row?.sealed ?? null;
  }

  /** Changes nothing where there is one. */
  async create(organizationId: string, sealed: string): Promise<void> {
    await this.dataSource.query(CREATE, [organizationId, sealed]);
  }

  async replace(organizationId: string, sealed: string): Promise<void> {
    await this.dataSource.query(REPLACE, [organizationId, sealed]);
  }
}
