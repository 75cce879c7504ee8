import type { EntityManager, SelectQueryBuilder } from 'typeorm';
import { decodeCursor } from '../../core/types/cursor';
import type { Micro } from '../../core/types/micro';
import { type Page, type PageRequest, textOfTime, toPage } from '../../core/types/page';
import { OrganizationEntity } from '../../core/database/entities/organization.entity';
import { PaymentEventEntity } from '../../core/database/entities/payment-event.entity';
import {
  NEEDS_REVIEW,
  type PaymentProviderName,
  PurchaseEntity,
  type PurchaseState,
} from '../../core/database/entities/purchase.entity';
import { lockUntilCommit } from '../../core/database/transaction-lock';
import type { DisputedFact, PaymentEvent, PaymentFact, RefundFact } from './payment-provider';
import { type KnownReversals, type Purchase, toPurchase } from './purchase';

export interface NewPurchase {
  readonly id: string;
  readonly organizationId: string;
  readonly userId: string | null;
  readonly provider: PaymentProviderName;
  readonly amountMicro: Micro;
  readonly idempotencyKey: string | null;
  readonly createdAt: Date;
  readonly expiresAt: Date;
}

/**
 * Purchases that are pending, processing or paid count towards the limits; parameters are the start of day and month.
 */
const BOUGHT_SINCE = `
  SELECT COALESCE(sum(amount_micro) FILTER (WHERE created_at >= $2), 0)::text AS day,
         COALESCE(sum(amount_micro), 0)::text AS month
    FROM purchase
   WHERE organization_id = $1 AND created_at >= $3 AND state IN ('pending', 'processing', 'paid')`;

export async function insertPurchase(manager: EntityManager, purchase: NewPurchase): Promise<void> {
  await manager.insert(PurchaseEntity, { ...purchase, amountMicro: purchase.amountMicro.toString() });
}

export async function findPurchase(
  manager: EntityManager,
  organizationId: string,
  id: string,
): Promise<Purchase | null> {
  const entity = await manager.findOneBy(PurchaseEntity, { id, organizationId });
  return entity && toPurchase(entity);
}

export async function findPurchaseByKey(
  manager: EntityManager,
  organizationId: string,
  idempotencyKey: string,
): Promise<Purchase | null> {
  const entity = await manager.findOneBy(PurchaseEntity, { organizationId, idempotencyKey });
  return entity && toPurchase(entity);
}

export async function findPurchaseById(manager: EntityManager, id: string): Promise<Purchase | null> {
  const entity = await manager.findOneBy(PurchaseEntity, { id });
  return entity && toPurchase(entity);
}

/** Locks the purchase until the transaction ends, so its events wait. @param organizationId absent: any organization */
export async function lockPurchaseOf(
  manager: EntityManager,
  organizationId: string | undefined,
  id: string,
): Promise<Purchase | null> {
  const entity = await manager.findOne(PurchaseEntity, {
    where: { id, ...(organizationId !== undefined && { organizationId }) },
    lock: { mode: 'pessimistic_write' },
  });
  return entity && toPurchase(entity);
}

/** Newest first. @throws GatewayError `validation_failed` for an invalid cursor. */
export async function findPurchases(
  manager: EntityManager,
  organizationId: string,
  page: PageRequest,
): Promise<Page<Purchase>> {
  const query = newestFirst(manager, page).andWhere('purchase.organization_id = :organizationId', { organizationId });
  const { entities, raw } = await query.getRawAndEntities<{ position: string }>();
  const rows = entities.map((entity, index) => ({ ...toPurchase(entity), position: raw[index]?.position ?? '' }));
  return toPage(rows, page.limit, ({ position, id }) => [position, id]);
}

/** An absent member does not filter. */
export interface StaffPurchaseFilter {
  readonly id?: string;
  readonly organizationId?: string;
  readonly state?: PurchaseState;
  readonly needsReview?: boolean;
}

/** A purchase of any organization. */
export interface StaffPurchase extends Purchase {
  readonly organizationName: string;
}

/** Newest first. @throws GatewayError `validation_failed` for an invalid cursor. */
export async function findPurchasesForStaff(
  manager: EntityManager,
  { id: only, organizationId, state, needsReview }: StaffPurchaseFilter,
  page: PageRequest,
): Promise<Page<StaffPurchase>> {
  const query = newestFirst(manager, page)
    .innerJoin(OrganizationEntity, 'organization', 'organization.id = purchase.organization_id')
    .addSelect('organization.name', 'organization_name');
  if (only !== undefined) query.andWhere('purchase.id = :only', { only });
  if (organizationId !== undefined) query.andWhere('purchase.organization_id = :organizationId', { organizationId });
  if (state !== undefined) query.andWhere('purchase.state = :state', { state });
  if (needsReview !== undefined) query.andWhere(`${needsReview ? '' : 'NOT '}(${NEEDS_REVIEW})`);
  const { entities, raw } = await query.getRawAndEntities<{ position: string; organization_name: string }>();
  const rows = entities.map((entity, index) => ({
    ...toPurchase(entity),
    organizationName: raw[index]?.organization_name ?? '',
    position: raw[index]?.position ?? '',
  }));
  return toPage(rows, page.limit, ({ position, id }) => [position, id]);
}

function newestFirst(manager: EntityManager, { limit, cursor }: PageRequest): SelectQueryBuilder<PurchaseEntity> {
  const query = manager
    .createQueryBuilder(PurchaseEntity, 'purchase')
    .addSelect(textOfTime('purchase.created_at'), 'position')
    .orderBy('purchase.created_at', 'DESC')
    .addOrderBy('purchase.id', 'DESC')
    .limit(limit + 1);
  if (cursor === null) return query;
  const [time, id] = decodeCursor(cursor, ['time', 'uuid']);
  return query.where('(purchase.created_at, purchase.id) < (:time::timestamptz, :id::uuid)', { time, id });
}

/** Sums of purchases since the start of the day and of the month. */
export async function sumPurchases(
  manager: EntityManager,
  organizationId: string,
  since: { readonly day: Date; readonly month: Date },
): Promise<{ readonly dayMicro: Micro; readonly monthMicro: Micro }> {
  const [sums]: { day: string; month: string }[] = await manager.query(BOUGHT_SINCE, [
    organizationId,
    since.day,
    since.month,
  ]);
  return { dayMicro: BigInt(sums?.day ?? 0), monthMicro: BigInt(sums?.month ?? 0) };
}

/**
 * Serializes events of this payment until the transaction ends. Must be taken before any row lock.
 */
export async function lockPayment(
  manager: EntityManager,
  provider: PaymentProviderName,
  paymentReference: string,
): Promise<void> {
  await lockUntilCommit(manager, `${provider}:${paymentReference}`);
}

/** The purchase of an event, locked until the transaction ends, so that its events are processed one at a time. */
export async function lockPurchase(
  manager: EntityManager,
  provider: PaymentProviderName,
  fact: PaymentFact,
): Promise<Purchase | null> {
  const named = 'purchaseId' in fact ? fact.purchaseId : null;
  const where =
    named !== null ? { id: named } : 'paymentReference' in fact ? { paymentReference: fact.paymentReference } : null;
  if (where === null) return null;
  const entity = await manager.findOne(PurchaseEntity, {
    where: { ...where, provider },
    lock: { mode: 'pessimistic_write' },
  });
  return entity && toPurchase(entity);
}

/** Whether a payment has already paid for another purchase. */
export function isPaymentOfAnother(
  manager: EntityManager,
  { id, provider }: Purchase,
  paymentReference: string,
): Promise<boolean> {
  return manager
    .createQueryBuilder(PurchaseEntity, 'purchase')
    .where('provider = :provider AND payment_reference = :paymentReference AND id <> :id', {
      provider,
      paymentReference,
      id,
    })
    .getExists();
}

export function isEventKnown(manager: EntityManager, provider: PaymentProviderName, id: string): Promise<boolean> {
  return manager.existsBy(PaymentEventEntity, { provider, id });
}

export async function insertEvent(
  manager: EntityManager,
  { id: purchaseId, provider }: Purchase,
  { id, type }: PaymentEvent,
  outcome: string,
  receivedAt: Date,
): Promise<void> {
  await manager.insert(PaymentEventEntity, { provider, id, type, purchaseId, outcome, receivedAt });
}

/** Writes the columns that events and reviews can change. */
export async function savePurchase(manager: EntityManager, purchase: Purchase): Promise<void> {
  const { id, state, checkoutReference, paymentReference, failure, endedAt, reviewedAt } = purchase;
  await manager.update(
    PurchaseEntity,
    { id },
    {
      state,
      checkoutReference,
      paymentReference,
      failure,
      endedAt,
      reviewedAt,
      refundedMicro: purchase.refundedMicro.toString(),
      highestRefundedMicro: purchase.highestRefundedMicro.toString(),
      disputedMicro: purchase.disputedMicro.toString(),
      owedMicro: purchase.owedMicro.toString(),
    },
  );
}

/** Applies in any state of the purchase, since its payment event may already have arrived. */
export async function saveCheckout(
  manager: EntityManager,
  id: string,
  { reference, url }: { readonly reference: string; readonly url: string },
): Promise<void> {
  await manager.update(PurchaseEntity, { id }, { checkoutReference: reference, checkoutUrl: url });
}

/** Fails a purchase that cannot be paid, and releases its idempotency key. `false`: its state has changed meanwhile. */
export async function failPurchase(manager: EntityManager, id: string, failure: string, now: Date): Promise<boolean> {
  const { affected } = await manager
    .createQueryBuilder()
    .update(PurchaseEntity)
    .set({ state: 'failed', failure, endedAt: now, idempotencyKey: null })
    .where(`id = :id AND state = 'pending' AND checkout_reference IS NULL`, { id })
    .execute();
  return affected === 1;
}

/** Expires unpaid purchases that were payable until `before`, and returns them. */
export async function expirePurchases(
  manager: EntityManager,
  before: Date,
  now: Date,
): Promise<readonly { readonly id: string; readonly organizationId: string }[]> {
  const { raw } = await manager
    .createQueryBuilder()
    .update(PurchaseEntity)
    .set({ state: 'expired', endedAt: now })
    .where(`state = 'pending' AND expires_at < :before`, { before })
    .returning(['id', 'organizationId'])
    .execute();
  return (raw as { id: string; organization_id: string }[]).map((row) => ({
    id: row.id,
    organizationId: row.organization_id,
  }));
}

/** Ignores an older event of the same refund that arrives later: a failed refund stays failed. */
const KEEP_REFUND = `
  INSERT INTO payment_refund AS kept (provider, id, payment_reference, amount_micro, has_failed) VALUES ($1, $2, $3, $4, $5)
  ON CONFLICT (provider, id) DO UPDATE SET has_failed = true WHERE excluded.has_failed AND NOT kept.has_failed`;

/** Stores a refund, also of a payment that is not known yet. The payment must be locked. */
export async function persistRefund(
  manager: EntityManager,
  provider: PaymentProviderName,
  { refundId, paymentReference, amountMicro, hasFailed }: RefundFact,
): Promise<void> {
  await manager.query(KEEP_REFUND, [provider, refundId, paymentReference, amountMicro.toString(), hasFailed]);
}

/**
 * Gives the id to a dispute that was stored before ids were: it has the payment's id until its first event with an id.
 */
const NAME_DISPUTE = `
  UPDATE payment_dispute SET id = $2 WHERE provider = $1 AND id = $3 AND payment_reference = $3
     AND NOT EXISTS (SELECT FROM payment_dispute WHERE provider = $1 AND id = $2)`;

/**
 * Ignores an older event of the same dispute that arrives later. Within the same second, a reinstatement wins, because
 * it always follows the withdrawal.
 */
const KEEP_DISPUTE = `
  INSERT INTO payment_dispute AS kept (provider, id, payment_reference, withheld_micro, reported_at)
  VALUES ($1, $2, $3, $4, $5)
  ON CONFLICT (provider, id) DO UPDATE
    SET withheld_micro = excluded.withheld_micro, reported_at = excluded.reported_at
    WHERE excluded.reported_at > kept.reported_at
       OR (excluded.reported_at = kept.reported_at AND excluded.withheld_micro < kept.withheld_micro)`;

/** Stores a dispute, also of a payment that is not known yet. The payment must be locked. */
export async function persistDispute(
  manager: EntityManager,
  provider: PaymentProviderName,
  { disputeId, paymentReference, withheldMicro, reportedAtMs }: DisputedFact,
): Promise<void> {
  await manager.query(NAME_DISPUTE, [provider, disputeId, paymentReference]);
  const reportedAt = new Date(reportedAtMs);
  await manager.query(KEEP_DISPUTE, [provider, disputeId, paymentReference, withheldMicro.toString(), reportedAt]);
}

const SUM_REVERSALS = `
  SELECT (SELECT COALESCE(sum(amount_micro) FILTER (WHERE NOT has_failed), 0)::text
            FROM payment_refund WHERE provider = $1 AND payment_reference = $2) AS refunded,
         (SELECT COALESCE(sum(amount_micro) FILTER (WHERE has_failed), 0)::text
            FROM payment_refund WHERE provider = $1 AND payment_reference = $2) AS failed,
         (SELECT COALESCE(sum(withheld_micro), 0)::text
            FROM payment_dispute WHERE provider = $1 AND payment_reference = $2) AS disputed`;

/** The stored refunds and disputes of a payment. The payment must be locked. */
export async function findReversals(
  manager: EntityManager,
  provider: PaymentProviderName,
  paymentReference: string,
): Promise<KnownReversals> {
  const [sums]: { refunded: string; failed: string; disputed: string }[] = await manager.query(SUM_REVERSALS, [
    provider,
    paymentReference,
  ]);
  return {
    refundedMicro: BigInt(sums?.refunded ?? 0),
    failedRefundsMicro: BigInt(sums?.failed ?? 0),
    disputedMicro: BigInt(sums?.disputed ?? 0),
  };
}
