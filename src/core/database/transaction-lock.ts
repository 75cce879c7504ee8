import type { EntityManager } from 'typeorm';

/**
 * Waits for the lock of this name and holds it until the transaction ends. For what has no row yet to lock. Other
 * versions of the gateway run beside this one: a lock that changes its name serializes nothing during an upgrade.
 */
export async function lockUntilCommit(manager: EntityManager, name: string): Promise<void> {
  await manager.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [name]);
}
