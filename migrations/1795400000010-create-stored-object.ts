import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What the object storage holds and for how long (src/core/storage/README.md). */
export class CreateStoredObject1795400000010 implements MigrationInterface {
  readonly name = 'CreateStoredObject1795400000010';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(STORED_OBJECT);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE stored_object');
  }
}

const STORED_OBJECT = `
  CREATE TABLE stored_object (
    key text COLLATE "C" NOT NULL,
    organization_id uuid NOT NULL,
    kind text NOT NULL,
    size_bytes bigint,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    delete_at timestamptz NOT NULL,
    sweep_after timestamptz NOT NULL,
    CONSTRAINT stored_object_pkey PRIMARY KEY (key),
    CONSTRAINT stored_object_kind_check CHECK (kind IN ('image', 'video', 'music')),
    CONSTRAINT stored_object_size_check CHECK (size_bytes >= 0)
  );
  CREATE INDEX stored_object_sweep_index ON stored_object (sweep_after);
`;
