import type { EntityManager } from 'typeorm';
import type { Micro } from '../common/micro';
import { paymentReferenceOf, type Purchase, takenBackMicro } from './purchase';

/** Until the transaction ends nothing is held and nothing is charged. */
const LOCK_FREE_BALANCE = `
  SELECT (balance_micro - reserved_micro)::text AS free FROM organization_account WHERE organization_id = $1 FOR UPDATE`;

/** Credits what was paid, once. */
export async function bookPayment(manager: EntityManager, purchase: Purchase): Promise<void> {
  await post(manager, purchase.organizationId, 'topup', purchase.amountMicro, paymentReferenceOf(purchase));
}

/**
 * Books the difference of what was taken back before an event and after it. Of more, the free balance pays; the rest is
 * owed. Of less, what is owed goes first; the rest is credited again. Returns what is owed then.
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

/** `repeated` is as good as `applied`: the same amount stands under this reference. */
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
