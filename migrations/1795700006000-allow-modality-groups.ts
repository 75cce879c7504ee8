import type { MigrationInterface, QueryRunner } from 'typeorm';

/** `allowed_modalities` also takes `audio`, which covers speech and transcription. */
export class AllowModalityGroups1795700006000 implements MigrationInterface {
  readonly name = 'AllowModalityGroups1795700006000';

  async up(runner: QueryRunner): Promise<void> {
    await replaceCheck(
      runner,
      `ARRAY['text', 'audio', 'image', 'video', 'music', 'embedding', 'speech', 'transcription']`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      UPDATE api_key SET allowed_modalities = ARRAY(
        SELECT DISTINCT unnest(array_remove(allowed_modalities, 'audio') || ARRAY['speech', 'transcription'])
      ) WHERE 'audio' = ANY (allowed_modalities)
    `);
    await replaceCheck(runner, `ARRAY['text', 'embedding', 'image', 'speech', 'transcription', 'video', 'music']`);
  }
}

async function replaceCheck(runner: QueryRunner, allowedModalities: string): Promise<void> {
  await runner.query(`
    ALTER TABLE api_key DROP CONSTRAINT api_key_allowed_check, ADD CONSTRAINT api_key_allowed_check CHECK (
      cardinality(allowed_ips) > 0 AND cardinality(allowed_models) > 0 AND cardinality(allowed_modalities) > 0
      AND allowed_modalities <@ ${allowedModalities}
    )
  `);
}
