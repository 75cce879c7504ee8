import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { recordAudit } from '../../core/database/audit-log';
import { SYSTEM } from '../../core/types/actor';
import { CLOCK, type Clock } from '../../core/time/clock';
import { expirePurchases } from './purchase.repository';

/** The provider's event for an expired page may arrive late. */
const GRACE_MS = 15 * 60_000;

/** Expires purchases whose page can no longer be paid and that received no event, so that they no longer count. */
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
