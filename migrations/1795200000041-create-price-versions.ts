import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The history of prices. Rows are only ever added, whoever asks. */
export class CreatePriceVersions1795200000041 implements MigrationInterface {
  readonly name = 'CreatePriceVersions1795200000041';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE price_version (
        id uuid NOT NULL,
        model_id text NOT NULL,
        deployment_id uuid,
        effective_from timestamptz NOT NULL,
        effective_to timestamptz,
        revision integer NOT NULL,
        content jsonb,
        source text NOT NULL,
        reference text,
        checked_at date,
        created_at timestamptz NOT NULL DEFAULT now(),
        CONSTRAINT price_version_pkey PRIMARY KEY (id),
        CONSTRAINT price_version_model_id_fkey FOREIGN KEY (model_id) REFERENCES model (id),
        CONSTRAINT price_version_deployment_id_fkey FOREIGN KEY (deployment_id) REFERENCES deployment (id),
        CONSTRAINT price_version_source_check CHECK (source IN ('builtin', 'file', 'admin')),
        CONSTRAINT price_version_revision_check CHECK (revision > 0),
        CONSTRAINT price_version_period_check CHECK (effective_to > effective_from)
      )`);
    // A model's own price has no deployment; two of them must collide like any others.
    await runner.query(`
      CREATE UNIQUE INDEX price_version_place_index
        ON price_version (model_id, deployment_id, effective_from, revision) NULLS NOT DISTINCT`);
    await runner.query(`
      CREATE FUNCTION price_version_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        RAISE EXCEPTION 'price_version is append-only' USING ERRCODE = 'integrity_constraint_violation';
      END $$`);
    await runner.query(`
      CREATE TRIGGER price_version_append_only
        BEFORE UPDATE OR DELETE OR TRUNCATE ON price_version
        FOR EACH STATEMENT EXECUTE FUNCTION price_version_refuse_change()`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`DROP TABLE price_version`);
    await runner.query(`DROP FUNCTION price_version_refuse_change()`);
  }
}
