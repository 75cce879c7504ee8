import type { EntityManager } from 'typeorm';

/**
 * Lets the server abort the transaction when the process hangs in the middle of it: a transaction that locks an account
 * blocks all requests of its organization.
 */
export async function limitIdleTime(manager: EntityManager): Promise<void> {
  await manager.query(`SET LOCAL idle_in_transaction_session_timeout = '5s'`);
}
