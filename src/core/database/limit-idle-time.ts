import type { EntityManager } from 'typeorm';

/**
 * A transaction that locks an account blocks all requests of its organization. The server aborts it when the process
 * hangs in the middle.
 */
export async function limitIdleTime(manager: EntityManager): Promise<void> {
  await manager.query(`SET LOCAL idle_in_transaction_session_timeout = '5s'`);
}
