import type { EntityManager } from 'typeorm';

/**
 * Whoever locks an account keeps all requests of its organization waiting until the transaction ends. A process that hangs
 * in the middle of one loses it.
 */
export async function limitIdleTime(manager: EntityManager): Promise<void> {
  await manager.query(`SET LOCAL idle_in_transaction_session_timeout = '5s'`);
}
