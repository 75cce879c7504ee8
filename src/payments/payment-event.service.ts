import { Inject, Injectable, Logger } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { recordAudit } from '../audit/audit-log';
import type { Actor } from '../common/actor';
import { CLOCK, type Clock } from '../common/clock';
import { GatewayError } from '../common/errors/gateway-error';
import { requireUuid } from '../common/require-uuid';
import { Semaphore } from '../common/semaphore';
import { limitIdleTime } from '../database/limit-idle-time';
import type { PaymentProviderName } from '../database/entities/purchase.entity';
import { applyPaymentFact, type AppliedFact, NO_REFUNDS, type PaymentOutcome } from './apply-payment-fact';
import { bookPayment, bookTakenBack } from './booking.repository';
import type { EventHeaders, PaymentEvent, PaymentFact } from './payment-provider';
import { PaymentProviders } from './payment-providers';
import { findRefunds, keepRefund } from './refund.repository';
import type { Purchase } from './purchase';
import {
  findEarlyDispute,
  findPurchaseById,
  insertEvent,
  isEventKnown,
  isPaymentOfAnother,
  keepEarlyDispute,
  lockPayment,
  lockPurchase,
  savePurchase,
} from './purchase.repository';
import { purchaseNotFound, summaryOf } from './purchase.service';

/** Events of one purchase wait for each other: all at once they would take every connection for it. */
const CONNECTIONS = 2;

const logger = new Logger('Payments');

/**
 * The only way that money comes in. What an event says is credited in one transaction with the note that it was seen, so
 * that any event may come any number of times, to any process, in any order; an answer that is lost costs a repetition.
 */
@Injectable()
export class PaymentEventService {
  private readonly connections = new Semaphore(CONNECTIONS);

  constructor(
    private readonly dataSource: DataSource,
    private readonly providers: PaymentProviders,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /**
   * Takes an event as it came. Events of purchases that nobody knows are left alone, so that their sender stops.
   * @throws GatewayError `not_configured`; `validation_failed` when it is not signed as it should be.
   */
  async receive(name: PaymentProviderName, rawBody: Buffer, headers: EventHeaders, actor: Actor): Promise<void> {
    const event = await this.providers.require(name).readEvent(rawBody, headers);
    const { fact } = event;
    if (fact === null) return;
    await this.connections.run(() =>
      this.dataSource.transaction((manager) => this.apply(manager, name, event, fact, actor)),
    );
  }

  /** The purchase that a page of the test provider is for. @throws GatewayError `not_configured`, `not_found`. */
  async getTestPurchase(id: string): Promise<Purchase> {
    this.providers.require('test');
    const purchase = await findPurchaseById(this.dataSource.manager, requireUuid(id, purchaseNotFound().message));
    if (purchase === null || purchase.provider !== 'test') throw purchaseNotFound();
    return purchase;
  }

  /**
   * Pays at the test provider, and takes the event that it sends then.
   * @throws GatewayError `not_configured`, `not_found`, `conflict` when it is paid or cannot be paid any more.
   */
  async payTestPurchase(id: string, actor: Actor): Promise<Purchase> {
    const purchase = await this.getTestPurchase(id);
    if (purchase.state !== 'pending') {
      throw new GatewayError('conflict', `This purchase is ${purchase.state} and cannot be paid.`);
    }
    const event = this.providers.test?.pay({
      purchaseId: purchase.id,
      organizationId: purchase.organizationId,
      amountMicro: purchase.amountMicro,
    });
    if (event !== undefined) await this.receive('test', event.rawBody, event.headers, actor);
    return this.getTestPurchase(id);
  }

  private async apply(
    manager: EntityManager,
    name: PaymentProviderName,
    event: PaymentEvent,
    fact: PaymentFact,
    actor: Actor,
  ): Promise<void> {
    await limitIdleTime(manager);
    if ('paymentReference' in fact) await lockPayment(manager, name, fact.paymentReference);
    if (fact.kind === 'refund') await keepRefund(manager, name, fact);
    const before = await lockPurchase(manager, name, fact);
    if (before === null) {
      if (fact.kind === 'disputed') await keepEarlyDispute(manager, name, fact);
      logger.warn(`The event ${event.id} (${event.type}) of ${name} is about no purchase of this service`);
      return;
    }
    if (await isEventKnown(manager, name, event.id)) return;
    const now = new Date(this.clock.now());
    const { purchase: next, outcome } = await this.judge(manager, before, fact, now);
    if (next.state === 'paid' && before.state !== 'paid') await bookPayment(manager, next);
    const after = { ...next, owedMicro: await bookTakenBack(manager, before, next, event.id) };
    await savePurchase(manager, after);
    await insertEvent(manager, after, event, outcome, now);
    if (outcome !== 'nothing') await this.record(manager, before, after, outcome, actor);
  }

  private async judge(manager: EntityManager, before: Purchase, fact: PaymentFact, now: Date): Promise<AppliedFact> {
    if (fact.kind === 'paid' && (await isPaymentOfAnother(manager, before, fact.paymentReference))) {
      const failure = 'The payment has already paid for another purchase.';
      if (before.state === 'paid') return { purchase: { ...before, failure }, outcome: 'mismatch' };
      return { purchase: { ...before, state: 'mismatch', failure, endedAt: now }, outcome: 'mismatch' };
    }
    const refunds =
      'paymentReference' in fact ? await findRefunds(manager, before.provider, fact.paymentReference) : NO_REFUNDS;
    const applied = applyPaymentFact(before, fact, refunds, now);
    if (applied.outcome !== 'paid' || fact.kind !== 'paid') return applied;
    // Disputes name the payment alone, so that one of them may have come when nobody knew whose it was.
    const dispute = await findEarlyDispute(manager, before.provider, fact.paymentReference);
    return dispute === null
      ? applied
      : { ...applied, purchase: applyPaymentFact(applied.purchase, dispute, refunds, now).purchase };
  }

  private async record(
    manager: EntityManager,
    before: Purchase,
    after: Purchase,
    outcome: PaymentOutcome,
    actor: Actor,
  ): Promise<void> {
    const { id, organizationId } = after;
    if (outcome === 'mismatch') logger.error(`Purchase ${id} needs a person to look at it: ${after.failure}`);
    if (outcome === 'refund_failed')
      logger.warn(`A refund of purchase ${id} has failed: its buyer has the credit again`);
    if (after.owedMicro > before.owedMicro) {
      logger.warn(`Organization ${organizationId} owes ${after.owedMicro} micro-units of purchase ${id}`);
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
