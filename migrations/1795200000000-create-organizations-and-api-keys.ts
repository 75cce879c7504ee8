import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Organizations and their API keys (contract, section 5). A key's secret is never here: `digest` is its HMAC-SHA256.
 * `revoked_at` may lie in the future: a rotated key works until its grace period ends.
 */
export class CreateOrganizationsAndApiKeys1795200000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE organization (
        id uuid NOT NULL DEFAULT gen_random_uuid(),
        name text NOT NULL,
        status text NOT NULL DEFAULT 'active',
        created_at timestamptz NOT NULL DEFAULT now(),
        CONSTRAINT organization_pkey PRIMARY KEY (id),
        CONSTRAINT organization_name_check CHECK (char_length(name) BETWEEN 1 AND 200),
        CONSTRAINT organization_status_check CHECK (status IN ('active', 'suspended'))
      )`);
    await runner.query(`
      CREATE TABLE api_key (
        id uuid NOT NULL DEFAULT gen_random_uuid(),
        organization_id uuid NOT NULL,
        name text NOT NULL,
        digest bytea NOT NULL,
        prefix text NOT NULL,
        last4 text NOT NULL,
        enabled boolean NOT NULL DEFAULT true,
        revoked_at timestamptz,
        expires_at timestamptz,
        replaced_by uuid,
        allowed_ips cidr[],
        allowed_models text[],
        allowed_modalities text[],
        requests_per_second integer,
        requests_per_minute integer,
        tokens_per_minute integer,
        concurrency integer,
        daily_budget_micro bigint,
        monthly_budget_micro bigint,
        created_at timestamptz NOT NULL DEFAULT now(),
        CONSTRAINT api_key_pkey PRIMARY KEY (id),
        CONSTRAINT api_key_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organization (id),
        CONSTRAINT api_key_replaced_by_fkey FOREIGN KEY (replaced_by) REFERENCES api_key (id),
        CONSTRAINT api_key_name_check CHECK (char_length(name) BETWEEN 1 AND 200),
        CONSTRAINT api_key_digest_check CHECK (octet_length(digest) = 32),
        CONSTRAINT api_key_replaced_by_check CHECK (replaced_by IS NULL OR revoked_at IS NOT NULL),
        CONSTRAINT api_key_allowed_check CHECK (
          cardinality(allowed_ips) > 0 AND cardinality(allowed_models) > 0 AND cardinality(allowed_modalities) > 0
          AND allowed_modalities <@ ARRAY['text', 'embedding', 'image', 'speech', 'transcription', 'video', 'music']
        ),
        CONSTRAINT api_key_limits_check CHECK (
          requests_per_second > 0 AND requests_per_minute > 0 AND tokens_per_minute > 0 AND concurrency > 0
        ),
        CONSTRAINT api_key_budgets_check CHECK (daily_budget_micro >= 0 AND monthly_budget_micro >= 0)
      )`);
    await runner.query(`CREATE UNIQUE INDEX api_key_digest_index ON api_key (digest)`);
    await runner.query(`CREATE INDEX api_key_organization_id_index ON api_key (organization_id, created_at)`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`DROP TABLE api_key`);
    await runner.query(`DROP TABLE organization`);
  }
}
