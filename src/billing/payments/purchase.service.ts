import { Inject, Injectable, Logger } from '@nestjs/common';
import pLimit from 'p-limit';
import { DataSource, type EntityManager } from 'typeorm';
import { recordAudit } from '../../core/database/audit-log';
import type { Actor } from '../../core/types/actor';
import { Metrics } from '../../core/observability/metrics/catalogue';
import { CLOCK, type Clock } from '../../core/time/clock';
import { GatewayError } from '../../core/errors/gateway-error';
import { uuidV7 } from '../../core/types/ids';
import { type Micro, microToJson } from '../../core/types/micro';
import type { Page, PageRequest } from '../../core/types/page';
import { requireUuid } from '../../core/types/require-uuid';
import { APP_CONFIG, type AppConfig } from '../../core/config/app-config';
import { limitIdleTime } from '../../core/database/limit-idle-time';
import {
  findBillingSettings,
  lockBillingSettings,
  readPurchaseLimits,
  requireWithinLimits,
} from './billing-settings.service';
import { CheckoutNotMadeError, type PaymentProvider } from './payment-provider';
import { PaymentProviders } from './payment-providers';
import { needsReview, type Purchase } from './purchase';
import {
  failPurchase,
  findPurchase,
  findPurchaseByKey,
  findPurchases,
  findPurchasesForStaff,
  insertPurchase,
  lockPurchaseOf,
  saveCheckout,
  savePurchase,
  type StaffPurchase,
  type StaffPurchaseFilter,
} from './purchase.repository';

export interface PurchaseOrder {
  readonly amountMicro: Micro;
  /** The same key returns the same purchase; `null`: each call creates one. */
  readonly idempotencyKey: string | null;
}

/** How long an order can be paid. Stripe requires at least 30 minutes. */
const PAYABLE_MS = 60 * 60_000;

/** Purchases of one organization wait for each other; without a limit they could occupy every connection. */
const CONNECTIONS = 2;

type PurchaseAction = `purchase.${'created' | 'canceled' | 'failed'}`;

const logger = new Logger('Purchases');

/**
 * Creates and cancels purchases. A purchase is committed, and counts towards the limits, before the provider is called;
 * only the provider's events credit it (`PaymentEventService`).
 */
@Injectable()
export class PurchaseService {
  private readonly limitConnections = pLimit(CONNECTIONS);

  constructor(
    private readonly dataSource: DataSource,
    private readonly providers: PaymentProviders,
    @Inject(APP_CONFIG) private readonly config: Pick<AppConfig, 'payments'>,
    @Inject(CLOCK) private readonly clock: Clock,
    private readonly metrics: Metrics,
  ) {}

  /**
   * Creates a purchase with its checkout page.
   * @throws GatewayError `not_configured`, `purchase_limit_exceeded`, `conflict` for an organization that is suspended,
   * `idempotency_conflict` for a key of another amount,
   * `service_unavailable` when the provider does not answer: the call can be retried with the same key.
   */
  async create(organizationId: string, order: PurchaseOrder, actor: Actor): Promise<Purchase> {
    const seller = this.providers.requireSeller();
    const purchase = await this.limitConnections(() =>
      this.dataSource.transaction((manager) => this.openPurchase(manager, organizationId, order, seller, actor)),
    );
    if (purchase.state !== 'pending' || purchase.checkoutUrl !== null) return purchase;
    return this.checkOut(this.providers.require(purchase.provider), purchase, actor);
  }

  /** Newest first. @throws GatewayError `validation_failed` for an invalid cursor. */
  list(organizationId: string, page: PageRequest): Promise<Page<Purchase>> {
    return findPurchases(this.dataSource.manager, organizationId, page);
  }

  /** Of one or all organizations, newest first. @throws GatewayError `validation_failed` for an invalid cursor. */
  listForStaff(filter: StaffPurchaseFilter, page: PageRequest): Promise<Page<StaffPurchase>> {
    return findPurchasesForStaff(this.dataSource.manager, filter, page);
  }

  /** @throws GatewayError `not_found`. */
  async get(organizationId: string, id: string): Promise<Purchase> {
    const purchase = await findPurchase(this.dataSource.manager, organizationId, requireUuid(id, NOT_FOUND));
    if (purchase === null) throw purchaseNotFound();
    return purchase;
  }

  /**
   * Cancels an unpaid purchase: its page is closed at the provider, and it no longer counts towards the limits.
   * Idempotent. A payment made at the last moment is still credited.
   * @throws GatewayError `not_found`, `not_configured`, `conflict` when it is paid, being paid or has ended otherwise,
   * `service_unavailable` when the provider does not answer.
   */
  async cancel(organizationId: string, id: string, actor: Actor): Promise<Purchase> {
    const purchase = await this.get(organizationId, id);
    if (purchase.state === 'pending' && !(await this.closeCheckout(purchase))) {
      throw new GatewayError('conflict', 'This purchase is paid or being paid and cannot be canceled.');
    }
    return this.dataSource.transaction(async (manager) => {
      await limitIdleTime(manager);
      const before = await lockPurchaseOf(manager, organizationId, purchase.id);
      if (before === null) throw purchaseNotFound();
      if (before.state !== 'pending' && before.state !== 'canceled') {
        throw new GatewayError('conflict', `This purchase is ${before.state} and cannot be canceled.`);
      }
      const endedAt = before.endedAt ?? new Date(this.clock.now());
      const after = { ...before, state: 'canceled', endedAt } as const;
      await savePurchase(manager, after);
      await this.record(manager, after, 'purchase.canceled', actor, { before: summaryOf(before) });
      return after;
    });
  }

  /**
   * Ends the review of a payment that needs one, until the payment changes again. Idempotent.
   * @param note what was found, for the audit log
   * @throws GatewayError `not_found`, `conflict` for a payment that needs no review.
   */
  async review(id: string, note: string, actor: Actor): Promise<StaffPurchase> {
    const purchaseId = requireUuid(id, NOT_FOUND);
    return this.dataSource.transaction(async (manager) => {
      await limitIdleTime(manager);
      const before = await lockPurchaseOf(manager, undefined, purchaseId);
      if (before === null) throw purchaseNotFound();
      if (before.reviewedAt === null && !needsReview(before)) {
        throw new GatewayError('conflict', 'This purchase needs no review.');
      }
      const after = { ...before, reviewedAt: before.reviewedAt ?? new Date(this.clock.now()) };
      await savePurchase(manager, after);
      await recordAudit(manager, {
        organizationId: after.organizationId,
        actor,
        action: 'purchase.reviewed',
        target: { type: 'purchase', id: purchaseId },
        before: summaryOf(before),
        after: { ...summaryOf(after), reviewed: true, note },
      });
      const { items } = await findPurchasesForStaff(manager, { id: purchaseId }, { limit: 1, cursor: null });
      if (items[0] === undefined) throw purchaseNotFound();
      return items[0];
    });
  }

  private async closeCheckout(purchase: Purchase): Promise<boolean> {
    const { id, organizationId, amountMicro, expiresAt, checkoutReference } = purchase;
    const provider = this.providers.require(purchase.provider);
    const order = { purchaseId: id, organizationId, amountMicro, expiresAt };
    try {
      return await provider.closeCheckout(order, checkoutReference);
    } catch (error) {
      logger.warn({
        message: 'a checkout could not be closed',
        event: 'checkout_not_closed',
        purchase_id: id,
        reason: nameOf(error),
      });
      throw new GatewayError('service_unavailable', 'The payment provider cannot be reached. Nothing has changed.', {
        cause: error,
      });
    }
  }

  /** Runs one at a time per organization, so that two purchases cannot use the same remainder of a limit. */
  private async openPurchase(
    manager: EntityManager,
    organizationId: string,
    { amountMicro, idempotencyKey }: PurchaseOrder,
    { name }: PaymentProvider,
    actor: Actor,
  ): Promise<Purchase> {
    await limitIdleTime(manager);
    await lockBillingSettings(manager, organizationId);
    const known = idempotencyKey && (await findPurchaseByKey(manager, organizationId, idempotencyKey));
    if (known) {
      if (known.amountMicro !== amountMicro) {
        throw new GatewayError(
          'idempotency_conflict',
          'This Idempotency-Key was used for a purchase of another amount.',
        );
      }
      await this.record(manager, known, 'purchase.created', actor, { before: summaryOf(known) });
      return known;
    }
    const settings = await findBillingSettings(manager, organizationId);
    if (settings === null) throw new GatewayError('not_found', 'There is no such organization.');
    if (!settings.isActive) throw new GatewayError('conflict', 'This organization is suspended and cannot buy credit.');
    // Read after waiting for the lock: purchases ahead in the queue must be older.
    const nowMs = this.clock.now();
    const limits = await readPurchaseLimits(manager, organizationId, settings, this.config.payments, nowMs);
    requireWithinLimits(limits, amountMicro);
    const id = uuidV7(nowMs);
    await insertPurchase(manager, {
      id,
      organizationId,
      userId: actor.userId,
      provider: name,
      amountMicro,
      idempotencyKey,
      createdAt: new Date(nowMs),
      expiresAt: new Date(nowMs + PAYABLE_MS),
    });
    const purchase = await this.reread(manager, organizationId, id);
    await this.record(manager, purchase, 'purchase.created', actor);
    return purchase;
  }

  private async checkOut(provider: PaymentProvider, purchase: Purchase, actor: Actor): Promise<Purchase> {
    const { id, organizationId, amountMicro, expiresAt } = purchase;
    const { manager } = this.dataSource;
    try {
      const checkout = await provider.createCheckout({ purchaseId: id, organizationId, amountMicro, expiresAt });
      await saveCheckout(manager, id, checkout);
    } catch (error) {
      const isKnown = error instanceof CheckoutNotMadeError;
      logger.warn({
        event: 'checkout_failed',
        message: isKnown ? 'a checkout was not created' : 'it is unknown whether a checkout was created',
        purchase_id: id,
        reason: isKnown ? error.message : nameOf(error),
      });
      if (isKnown) await this.fail(purchase, error.message, actor);
      // After any other error it stays pending: the checkout may exist, and its payment is credited.
      throw new GatewayError('service_unavailable', 'The payment provider cannot be reached. Nothing was paid.', {
        cause: error,
      });
    }
    return this.reread(manager, organizationId, id);
  }

  private fail(purchase: Purchase, failure: string, actor: Actor): Promise<void> {
    return this.dataSource.transaction(async (manager) => {
      if (!(await failPurchase(manager, purchase.id, failure, new Date(this.clock.now())))) return;
      const failed = await this.reread(manager, purchase.organizationId, purchase.id);
      await this.record(manager, failed, 'purchase.failed', actor, { before: summaryOf(purchase) });
    });
  }

  private async record(
    manager: EntityManager,
    purchase: Purchase,
    action: PurchaseAction,
    actor: Actor,
    { before }: { readonly before?: object } = {},
  ): Promise<void> {
    const { id, organizationId } = purchase;
    const target = { type: 'purchase', id };
    await recordAudit(manager, { organizationId, actor, action, target, before, after: summaryOf(purchase) });
    this.metrics.purchases.of(action.slice('purchase.'.length)).inc();
  }

  private async reread(manager: EntityManager, organizationId: string, id: string): Promise<Purchase> {
    const purchase = await findPurchase(manager, organizationId, id);
    if (purchase === null) throw purchaseNotFound();
    return purchase;
  }
}

const NOT_FOUND = 'There is no such purchase.';

export function purchaseNotFound(): GatewayError {
  return new GatewayError('not_found', NOT_FOUND);
}

/** The fields of a purchase in the audit log. */
export function summaryOf({ state, amountMicro, refundedMicro, disputedMicro, owedMicro, failure }: Purchase): object {
  return {
    state,
    amount_micro: microToJson(amountMicro),
    ...(refundedMicro > 0n && { refunded_micro: microToJson(refundedMicro) }),
    ...(disputedMicro > 0n && { disputed_micro: microToJson(disputedMicro) }),
    ...(owedMicro > 0n && { owed_micro: microToJson(owedMicro) }),
    ...(failure !== null && { failure }),
  };
}

/** Only the name, because the message may contain request data. */
function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : 'unknown';
}
