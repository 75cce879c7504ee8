import { Inject, Injectable, Logger } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { recordAudit } from '../audit/audit-log';
import type { Actor } from '../common/actor';
import { CLOCK, type Clock } from '../common/clock';
import { GatewayError } from '../common/errors/gateway-error';
import { uuidV7 } from '../common/ids';
import { type Micro, microToJson } from '../common/micro';
import type { Page, PageRequest } from '../common/page';
import { requireUuid } from '../common/require-uuid';
import { Semaphore } from '../common/semaphore';
import { APP_CONFIG, type AppConfig } from '../config/app-config';
import { limitIdleTime } from '../database/limit-idle-time';
import { findBillingSettings, lockBillingSettings } from './billing-settings.repository';
import { CheckoutNotMadeError, type PaymentProvider } from './payment-provider';
import { PaymentProviders } from './payment-providers';
import type { Purchase } from './purchase';
import { readPurchaseLimits, requireWithinLimits } from './purchase-limits';
import {
  failPurchase,
  findPurchase,
  findPurchaseByKey,
  findPurchases,
  insertPurchase,
  saveCheckout,
} from './purchase.repository';

export interface PurchaseOrder {
  readonly amountMicro: Micro;
  /** The same key again is the same purchase; `null`: each call is one. */
  readonly idempotencyKey: string | null;
}

/** How long an order can be paid. Stripe takes 30 minutes at least. */
const PAYABLE_MS = 60 * 60_000;

/** Purchases of one organization wait for each other: all at once they would take every connection for it. */
const CONNECTIONS = 2;

const logger = new Logger('Purchases');

/**
 * Buying credit. A purchase is committed, and counts towards the limits, before its provider hears of it; what is credited
 * is the business of the provider's events alone (`PaymentEventService`).
 */
@Injectable()
export class PurchaseService {
  private readonly connections = new Semaphore(CONNECTIONS);

  constructor(
    private readonly dataSource: DataSource,
    private readonly providers: PaymentProviders,
    @Inject(APP_CONFIG) private readonly config: Pick<AppConfig, 'payments'>,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /**
   * A purchase, and where to pay it.
   * @throws GatewayError `not_configured`, `purchase_limit_exceeded`, `conflict` for an organization that is suspended,
   * `idempotency_conflict` for a key of another amount,
   * `service_unavailable` when the provider does not answer: with the same key it can be tried again.
   */
  async create(organizationId: string, order: PurchaseOrder, actor: Actor): Promise<Purchase> {
    const seller = this.providers.requireSeller();
    const purchase = await this.connections.run(() =>
      this.dataSource.transaction((manager) => this.open(manager, organizationId, order, seller, actor)),
    );
    if (purchase.state !== 'pending' || purchase.checkoutUrl !== null) return purchase;
    return this.checkOut(this.providers.require(purchase.provider), purchase, actor);
  }

  /** Newest first. @throws GatewayError `validation_failed` for a cursor that is none of these. */
  list(organizationId: string, page: PageRequest): Promise<Page<Purchase>> {
    return findPurchases(this.dataSource.manager, organizationId, page);
  }

  /** @throws GatewayError `not_found`. */
  async get(organizationId: string, id: string): Promise<Purchase> {
    const purchase = await findPurchase(this.dataSource.manager, organizationId, requireUuid(id, NOT_FOUND));
    if (purchase === null) throw purchaseNotFound();
    return purchase;
  }

  /** One at a time for each organization, so that no two purchases can take the same rest of a limit. */
  private async open(
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
        throw new GatewayError('idempotency_conflict', 'This Idempotency-Key belongs to a purchase of another amount.');
      }
      await this.record(manager, known, 'purchase.created', actor, { before: summaryOf(known) });
      return known;
    }
    const settings = await findBillingSettings(manager, organizationId);
    if (settings === null) throw new GatewayError('not_found', 'There is no such organization.');
    if (!settings.isActive) throw new GatewayError('conflict', 'This organization is suspended and gets no credit.');
    // Read now, not when the request came in: those before it in the queue are older.
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
      logger.warn(`Purchase ${id}: ${isKnown ? error.message : `no checkout, or an unknown one (${nameOf(error)})`}`);
      if (isKnown) await this.fail(purchase, error.message, actor);
      // Anything else leaves it pending: somebody may be able to pay it, and then it is credited.
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
    action: string,
    actor: Actor,
    { before }: { readonly before?: object } = {},
  ): Promise<void> {
    const { id, organizationId } = purchase;
    const target = { type: 'purchase', id };
    await recordAudit(manager, { organizationId, actor, action, target, before, after: summaryOf(purchase) });
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

/** What the audit log tells of a purchase. */
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

/** Its message may repeat what was sent. */
function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : 'unknown';
}
