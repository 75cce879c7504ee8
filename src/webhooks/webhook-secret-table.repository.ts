import type { DataSource } from 'typeorm';
import type { SealedRow, SealedTable } from '../core/secrets/reseal';
import { webhookSecretPurpose } from './webhook-secret.service';

/** Over the primary key, in pages. */
const NEXT = `
  SELECT organization_id AS id, sealed FROM organization_webhook_secret
   WHERE $1::uuid IS NULL OR organization_id > $1::uuid ORDER BY organization_id LIMIT $2`;
const REPLACE = 'UPDATE organization_webhook_secret SET sealed = $3 WHERE organization_id = $1 AND sealed = $2';

/** The secrets of all organizations, for re-encryption under a new key. */
export function webhookSecretTable(dataSource: DataSource): SealedTable {
  return {
    purposeOf: webhookSecretPurpose,
    next: (afterId, limit) => dataSource.query<SealedRow[]>(NEXT, [afterId === '' ? null : afterId, limit]),
    replace: async ({ id, sealed }, resealed) => {
      await dataSource.query(REPLACE, [id, sealed, resealed]);
    },
  };
}
