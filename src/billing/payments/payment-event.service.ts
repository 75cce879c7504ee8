import { Inject, Injectable, Logger } from '@nestjs/common';
import pLimit from 'p-limit';
import { DataSource, type EntityManager } from 'typeorm';
import { recordAudit } from '../../core/database/audit-log';
import type { PaymentProviderName } from '../../core/database/entities/purchase.entity';
import { limitIdleTime } from '../../core/database/limit-idle-time';
import { GatewayError } from '../../core/errors/gateway-error';
import { Metrics } from '../../core/observability/metrics/catalogue';
import { type Clock, CLOCK } from '../../core/time/clock';
import type { Actor } from '../../core/types/actor';
import type { Micro } from '../../core/types/micro';
import { requireUuid } from '../../core/types/require-uuid';
import type { EventHeaders, PaymentEvent, PaymentFact } from './payment-provider';
import { PaymentProviders } from './payment-providers';
import {
  type AppliedFact,
  applyPaymentFact,
  NO_REVERSALS,
  type PaymentOutcome,
  paymentReferenceOf,
  type Purchase,
  takenBackMicro,
} from './purchase';
import {
  findPurchaseById,
  findReversals,
  insertEvent,
  isEventKnown,
  isPaymentOfAnother,
  lockPayment,
  lockPurchase,
  persistDispute,
  persistRefund,
  savePurchase,
} from './purchase.repository';
import { purchaseNotFound, summaryOf } from './purchase.service';

/** Events of one purchase wait for each other; without a limit they could occupy every connection. */
const CONNECTIONS = 2;

const logger = new Logger('Payments');

/**
 * The only way to credit payments. An event is applied in the transaction that records it, so it may arrive any number
 * of times, in any process and order. If the response is lost, the provider sends the event again.
 */
@Injectable()
export class PaymentEventService {
  private readonly limitConnections = pLimit(CONNECTIONS);

  constructor(
    private readonly dataSource: DataSource,
    private readonly providers: PaymentProviders,
    @Inject(CLOCK) private readonly clock: Clock,
    private readonly metrics: Metrics,
  ) {}

  /**
   * Processes a raw event and returns what it changed. Events of unknown purchases are acknowledged, so that the
   * provider stops sending them.
   * @throws GatewayError `not_configured`; `validation_failed` for an invalid signature.
   */
  async receive(
    name: PaymentProviderName,
    rawBody: Buffer,
    headers: EventHeaders,
    actor: Actor,
  ): Promise<PaymentOutcome> {
    const event = await this.readEvent(name, rawBody, headers);
    const { fact } = event;
    if (fact === null) return 'nothing';
    return this.limitConnections(() =>
      this.dataSource.transaction((manager) => this.apply(manager, name, event, fact, actor)),
    );
  }

  /** Logs an invalid signature: a wrong secret would otherwise only show in purchases that are paid but expire. */
  private async readEvent(name: PaymentProviderName, rawBody: Buffer, headers: EventHeaders): Promise<PaymentEvent> {
    const provider = this.providers.require(name);
    try {
      return await provider.readEvent(rawBody, headers);
    } catch (error) {
      logger.warn({
        event: 'payment_event_refused',
        message: 'a payment event was refused',
        provider: name,
        err: error,
      });
      throw error;
    }
  }

  /** The purchase of a test provider page. @throws GatewayError `not_configured`, `not_found`. */
  async getTestPurchase(id: string): Promise<Purchase> {
    this.providers.require('test');
    const purchase = await findPurchaseById(this.dataSource.manager, requireUuid(id, purchaseNotFound().message));
    if (purchase === null || purchase.provider !== 'test') throw purchaseNotFound();
    return purchase;
  }

  /**
   * Pays at the test provider and processes the resulting event.
   * @throws GatewayError `not_configured`, `not_found`, `conflict` when the purchase is not pending.
   */
  async payTestPurchase(id: string, actor: Actor): Promise<Purchase> {
    const purchase = await this.getTestPurchase(id);
    if (purchase.state !== 'pending') throw notPayable(purchase);
    const event = this.providers.test?.pay({
      purchaseId: purchase.id,
      organizationId: purchase.organizationId,
      amountMicro: purchase.amountMicro,
    });
    const outcome = event && (await this.receive('test', event.rawBody, event.headers, actor));
    const current = await this.getTestPurchase(id);
    // A concurrent payment was faster.
    if (outcome !== 'paid') throw notPayable(current);
    return current;
  }

  private async apply(
    manager: EntityManager,
    name: PaymentProviderName,
    event: PaymentEvent,
    fact: PaymentFact,
    actor: Actor,
  ): Promise<PaymentOutcome> {
    await limitIdleTime(manager);
    if ('paymentReference' in fact) await lockPayment(manager, name, fact.paymentReference);
    if (fact.kind === 'refund') await persistRefund(manager, name, fact);
    if (fact.kind === 'disputed') await persistDispute(manager, name, fact);
    const before = await lockPurchase(manager, name, fact);
    if (before === null) {
      logger.warn({
        event: 'payment_event_unmatched',
        message: 'a payment event matches no purchase',
        provider: name,
        event_id: event.id,
        event_type: event.type,
      });
      return 'nothing';
    }
    if (await isEventKnown(manager, name, event.id)) return 'nothing';
    const now = new Date(this.clock.now());
    const { purchase: next, outcome } = await this.applyFact(manager, before, fact, now);
    if (next.state === 'paid' && before.state !== 'paid') await bookPayment(manager, next);
    const after = {
      ...next,
      owedMicro: await bookTakenBack(manager, before, next, event.id),
      // A review only covers what was known at its time.
      reviewedAt: outcome === 'nothing' ? next.reviewedAt : null,
    };
    await savePurchase(manager, after);
    await insertEvent(manager, after, event, outcome, now);
    if (outcome !== 'nothing') await this.record(manager, before, after, outcome, actor);
    return outcome;
  }

  private async applyFact(
    manager: EntityManager,
    before: Purchase,
    fact: PaymentFact,
    now: Date,
  ): Promise<AppliedFact> {
    if (fact.kind === 'paid' && (await isPaymentOfAnother(manager, before, fact.paymentReference))) {
      const failure = 'This payment was already used for another purchase.';
      if (before.state === 'paid') return { purchase: { ...before, failure }, outcome: 'mismatch' };
      return { purchase: { ...before, state: 'mismatch', failure, endedAt: now }, outcome: 'mismatch' };
    }
    const reversals =
      'paymentReference' in fact ? await findReversals(manager, before.provider, fact.paymentReference) : NO_REVERSALS;
    return applyPaymentFact(before, fact, reversals, now);
  }

  private async record(
    manager: EntityManager,
    before: Purchase,
    after: Purchase,
    outcome: PaymentOutcome,
    actor: Actor,
  ): Promise<void> {
    const { id, organizationId } = after;
    this.metrics.purchases.of(outcome).inc();
    const facts = { purchase_id: id, organization_id: organizationId };
    if (outcome === 'mismatch') {
      const { failure } = after;
      logger.error({ event: 'payment_mismatch', message: 'a purchase needs a manual review', ...facts, failure });
    }
    if (outcome === 'refund_failed') {
      logger.warn({ event: 'refund_failed', message: 'a refund failed and its amount was credited again', ...facts });
    }
    if (after.owedMicro > before.owedMicro) {
      const owed = after.owedMicro.toString();
      logger.warn({
        event: 'refund_uncovered',
        message: 'a refund or dispute exceeds the balance; the rest is owed',
        ...facts,
        owed_micro: owed,
      });
    }
    await recordAudit(manager, {
      organizationId,
      actor,
      action: 'payment.received',
      target: { type: 'purchase', id },
      before: summaryOf(before),
      after: summaryOf(after),
    });
  }
}

/** Blocks holds and charges of the account until the transaction ends. */
const LOCK_FREE_BALANCE = `
  SELECT (balance_micro - reserved_micro)::text AS free FROM organization_account WHERE organization_id = $1 FOR UPDATE`;

function notPayable({ state }: Purchase): GatewayError {
  return new GatewayError('conflict', `This purchase is ${state} and cannot be paid.`);
}

/** Credits a payment once. */
async function bookPayment(manager: EntityManager, purchase: Purchase): Promise<void> {
  await post(manager, purchase.organizationId, 'topup', purchase.amountMicro, paymentReferenceOf(purchase));
}

/**
 * Books the difference between the amounts taken back before and after an event. An increase is paid from the free
 * balance, and the rest is owed. A decrease first reduces the owed amount, and the rest is credited. Returns the new
 * owed amount.
 */
async function bookTakenBack(
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
