import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { MigrationInterface } from 'typeorm';

/** A migration of `migrations/` (see its README). */
export interface Migration extends MigrationInterface {
  readonly name: string;
  /** `checksumOf(readRoutines())` when the migration was written. A test checks the newest migration. */
  readonly routines: string;
  /** @throws OldDatabaseError when this migration cannot follow the applied ones, given by name. */
  requirePredecessors?(applied: readonly string[]): void;
}

/** The database is older than the migrations of this version. */
export class OldDatabaseError extends Error {
  override readonly name = 'OldDatabaseError';
}

/** The build copies the `.sql` files beside the compiled migrations. */
const FOLDER = resolve(__dirname, '../../../migrations');

/** The text of an SQL file of `migrations/`. */
export function readSql(path: string): string {
  return readFileSync(resolve(FOLDER, path), 'utf8');
}

/** The current text of every function with its triggers, then of every view. */
export function readRoutines(): readonly string[] {
  return ['functions', 'views'].flatMap((folder) =>
    readdirSync(resolve(FOLDER, folder))
      .toSorted()
      .map((file) => readSql(`${folder}/${file}`)),
  );
}

export function checksumOf(routines: readonly string[]): string {
  return createHash('sha256').update(routines.join('\n')).digest('hex').slice(0, 16);
}
