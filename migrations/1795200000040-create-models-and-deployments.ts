import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The model catalogue: what can be asked for (`model`) and where it runs (`deployment`). */
export class CreateModelsAndDeployments1795200000040 implements MigrationInterface {
  readonly name = 'CreateModelsAndDeployments1795200000040';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE model (
        id text NOT NULL,
        display_name text NOT NULL,
        modality text NOT NULL,
        input_modalities text[] NOT NULL,
        output_modalities text[] NOT NULL,
        status text NOT NULL,
        released_on date,
        retires_on date,
        aliases text[] NOT NULL,
        context_length integer,
        max_output_tokens integer,
        features jsonb NOT NULL,
        tokens_per_byte double precision NOT NULL,
        media jsonb,
        source text NOT NULL,
        enabled boolean NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now(),
        CONSTRAINT model_pkey PRIMARY KEY (id),
        CONSTRAINT model_modality_check CHECK (
          modality IN ('text', 'embedding', 'image', 'speech', 'transcription', 'video', 'music')
        ),
        CONSTRAINT model_status_check CHECK (status IN ('active', 'deprecated', 'disabled')),
        CONSTRAINT model_source_check CHECK (source IN ('builtin', 'file', 'admin')),
        CONSTRAINT model_enabled_check CHECK (NOT enabled OR status <> 'disabled'),
        CONSTRAINT model_limits_check CHECK (context_length > 0 AND max_output_tokens > 0)
      )`);
    await runner.query(`
      CREATE TABLE deployment (
        id uuid NOT NULL,
        model_id text NOT NULL,
        provider text NOT NULL,
        upstream_model text NOT NULL,
        dialect text,
        priority integer NOT NULL,
        weight integer NOT NULL,
        quirks jsonb NOT NULL,
        settings jsonb NOT NULL,
        source text NOT NULL,
        enabled boolean NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now(),
        CONSTRAINT deployment_pkey PRIMARY KEY (id),
        CONSTRAINT deployment_model_id_fkey FOREIGN KEY (model_id) REFERENCES model (id),
        CONSTRAINT deployment_source_check CHECK (source IN ('builtin', 'file', 'admin')),
        CONSTRAINT deployment_weight_check CHECK (weight > 0)
      )`);
    await runner.query(`CREATE INDEX deployment_model_id_index ON deployment (model_id)`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`DROP TABLE deployment`);
    await runner.query(`DROP TABLE model`);
  }
}
