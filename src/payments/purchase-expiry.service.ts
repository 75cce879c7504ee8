import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { recordAudit } from '../audit/audit-log';
import { SYSTEM } from '../common/actor';
import { CLOCK, type Clock } from '../common/clock';
import { expirePurchases } from './purchase.repository';

/** The provider's own word that a page has expired may still be on its way. */
const GRACE_MS = 15 * 60_000;

/** Ends purchases that nobody can pay any more and of which no event came: so their part of the limits is free again. */
@Injectable()
export class PurchaseExpiryService {
  constructor(
    private readonly dataSource: DataSource,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** Returns how many. */
  sweep(): Promise<number> {
    const nowMs = this.clock.now();
    return this.dataSource.transaction(async (manager) => {
      const expired = await expirePurchases(manager, new Date(nowMs - GRACE_MS), new Date(nowMs));
      for (const { id, organizationId } of expired) {
        await recordAudit(manager, {
          organizationId,
          actor: SYSTEM,
          action: 'purchase.expired',
          target: { type: 'purchase', id },
          before: { state: 'pending' },
          after: { state: 'expired' },
        });
      }
      return expired.length;
    });
  }
}
