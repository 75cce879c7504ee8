import type { EntityManager } from 'typeorm';

/**
 * Waits for the lock of this name and holds it until the transaction ends, for objects that have no row to lock yet. Do
 * not rename a lock: during an upgrade, other versions of the gateway would use the old name.
 */
export async function lockUntilCommit(manager: EntityManager, name: string): Promise<void> {
  await manager.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [name]);
}
