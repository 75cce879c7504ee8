import type { EntityManager } from 'typeorm';
import type { Micro } from '../../core/types/micro';
import { paymentReferenceOf, type Purchase, takenBackMicro } from './purchase';

/** Blocks holds and charges of the account until the transaction ends. */
const LOCK_FREE_BALANCE = `
  SELECT (balance_micro - reserved_micro)::text AS free FROM organization_account WHERE organization_id = $1 FOR UPDATE`;

/** Credits a payment once. */
export async function bookPayment(manager: EntityManager, purchase: Purchase): Promise<void> {
  await post(manager, purchase.organizationId, 'topup', purchase.amountMicro, paymentReferenceOf(purchase));
}

/**
 * Books the difference between the amounts taken back before and after an event. An increase is paid from the free balance,
 * and the rest is owed. A decrease first reduces the owed amount, and the rest is credited. Returns the new owed amount.
 */
export async function bookTakenBack(
  manager: EntityManager,
  before: Purchase,
  after: Purchase,
  eventId: string,
): Promise<Micro> {
  const changeMicro = takenBackMicro(after) - takenBackMicro(before);
  if (changeMicro === 0n) return after.owedMicro;
  const reference = `${paymentReferenceOf(after)}:${eventId}`;
  if (changeMicro > 0n) {
    const freeMicro = await lockFreeBalance(manager, after.organizationId);
    const bookedMicro = changeMicro < freeMicro ? changeMicro : freeMicro;
    if (bookedMicro > 0n) await post(manager, after.organizationId, 'refund', -bookedMicro, reference);
    return after.owedMicro + changeMicro - bookedMicro;
  }
  const forgivenMicro = -changeMicro < after.owedMicro ? -changeMicro : after.owedMicro;
  const returnedMicro = -changeMicro - forgivenMicro;
  if (returnedMicro > 0n) await post(manager, after.organizationId, 'adjust', returnedMicro, reference);
  return after.owedMicro - forgivenMicro;
}

async function lockFreeBalance(manager: EntityManager, organizationId: string): Promise<Micro> {
  const [account]: { free: string }[] = await manager.query(LOCK_FREE_BALANCE, [organizationId]);
  return BigInt(account?.free ?? 0);
}

/** `repeated` is equivalent to `applied`: the same amount is booked under this reference. */
async function post(
  manager: EntityManager,
  organizationId: string,
  kind: 'topup' | 'refund' | 'adjust',
  deltaMicro: Micro,
  reference: string,
): Promise<void> {
  const [row]: { outcome: string }[] = await manager.query('SELECT money_post($1, $2, $3, $4) AS outcome', [
    organizationId,
    kind,
    deltaMicro.toString(),
    reference,
  ]);
  if (row?.outcome === 'applied' || row?.outcome === 'repeated') return;
  throw new Error(`A payment could not be booked: ${row?.outcome}`);
}
