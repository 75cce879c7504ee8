import { Injectable, Logger } from '@nestjs/common';
import { Cron, CronExpression } from '@nestjs/schedule';
import { logFailure, scheduled } from '../../core/scheduling/scheduling.module';
import { LowBalanceService } from './low-balance.service';
import { PurchaseExpiryService } from './purchase-expiry.service';

@Injectable()
export class PaymentSweeps {
  private readonly logger = new Logger('Payments');

  constructor(
    private readonly balances: LowBalanceService,
    private readonly expiry: PurchaseExpiryService,
  ) {}

  @Cron(CronExpression.EVERY_MINUTE, scheduled('payments.low-balances'))
  checkLowBalances(): Promise<void> {
    const failure = { event: 'low_balance_check_failed', message: 'low balances could not be checked' };
    return logFailure(this.logger, failure, () => this.balances.sendNotices());
  }

  @Cron(CronExpression.EVERY_MINUTE, scheduled('payments.expired-purchases'))
  expirePurchases(): Promise<void> {
    const failure = { event: 'purchase_expiry_failed', message: 'purchases could not be expired' };
    return logFailure(this.logger, failure, () => this.expiry.sweep());
  }
}
