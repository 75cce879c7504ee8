import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The receipt of each request. Written once, in the transaction that ends the request's reservation. */
export class CreateUsageRecord1795200000011 implements MigrationInterface {
  readonly name = 'CreateUsageRecord1795200000011';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE usage_record (
        id uuid NOT NULL,
        organization_id uuid NOT NULL,
        key_id uuid NOT NULL,
        created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        price_version_id text,
        hold_micro bigint NOT NULL,
        charged_micro bigint NOT NULL,
        uncollected_micro bigint NOT NULL,
        input_text bigint NOT NULL,
        input_cache_read bigint NOT NULL,
        input_cache_write_5m bigint NOT NULL,
        input_cache_write_1h bigint NOT NULL,
        input_image bigint NOT NULL,
        input_audio bigint NOT NULL,
        output_text bigint NOT NULL,
        output_reasoning bigint NOT NULL,
        output_image bigint NOT NULL,
        output_audio bigint NOT NULL,
        images bigint NOT NULL,
        characters bigint NOT NULL,
        seconds double precision NOT NULL,
        first_token_ms integer,
        total_ms integer NOT NULL,
        attempts integer NOT NULL,
        status smallint NOT NULL,
        streamed boolean NOT NULL,
        usage_estimated boolean NOT NULL,
        operation text NOT NULL,
        model text NOT NULL,
        provider text,
        deployment_id text,
        error_code text,
        CONSTRAINT usage_record_pkey PRIMARY KEY (id)
      );
      CREATE INDEX usage_record_organization_time_index ON usage_record (organization_id, created_at);
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE usage_record');
  }
}
