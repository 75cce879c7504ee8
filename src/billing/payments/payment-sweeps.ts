import { Inject, Injectable, Logger } from '@nestjs/common';
import { Cron, CronExpression } from '@nestjs/schedule';
import { DataSource } from 'typeorm';
import { recordAudit } from '../../core/database/audit-log';
import { logFailure, scheduled } from '../../core/scheduling/scheduling.module';
import { CLOCK, type Clock } from '../../core/time/clock';
import { SYSTEM } from '../../core/types/actor';
import { LowBalanceService } from './low-balance.service';
import { expirePurchases } from './purchase.repository';

/** The provider's event for an expired page may arrive late. */
const EXPIRY_GRACE_MS = 15 * 60_000;

/** Sends low balance notices, and expires purchases that can no longer be paid. */
@Injectable()
export class PaymentSweeps {
  private readonly logger = new Logger('Payments');

  constructor(
    private readonly dataSource: DataSource,
    private readonly balances: LowBalanceService,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  @Cron(CronExpression.EVERY_MINUTE, scheduled('payments.low-balances'))
  checkLowBalances(): Promise<void> {
    const failure = { event: 'low_balance_check_failed', message: 'low balances could not be checked' };
    return logFailure(this.logger, failure, () => this.balances.sendNotices());
  }

  @Cron(CronExpression.EVERY_MINUTE, scheduled('payments.expired-purchases'))
  expireScheduled(): Promise<void> {
    const failure = { event: 'purchase_expiry_failed', message: 'purchases could not be expired' };
    return logFailure(this.logger, failure, () => this.expirePurchases());
  }

  /**
   * Expires purchases whose page can no longer be paid and that received no event, so that they no longer count towards
   * the limits. Returns how many.
   */
  expirePurchases(): Promise<number> {
    const nowMs = this.clock.now();
    return this.dataSource.transaction(async (manager) => {
      const expired = await expirePurchases(manager, new Date(nowMs - EXPIRY_GRACE_MS), new Date(nowMs));
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
