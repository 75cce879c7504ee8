/**
 * Buying credit: purchases within limits, payment providers, and the account statement. Only verified events credit money,
 * each of them once (`PaymentEventService`).
 */
import { Logger, Module, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { LedgerModule } from '../billing.module';
import { PeriodicTask } from '../../core/time/periodic-task';
import { MailModule } from '../../core/mail/mail.module';
import { AccountStatementRepository } from './account-statement.repository';
import { BillingSettingsService } from './billing-settings.service';
import { LowBalanceRepository } from './low-balance.repository';
import { LowBalanceService } from './low-balance.service';
import { PaymentEventService } from './payment-event.service';
import { PaymentProviders } from './payment-providers';
import { PurchaseExpiryService } from './purchase-expiry.service';
import { PurchaseService } from './purchase.service';

const INTERVAL_MS = 60_000;

const logger = new Logger('Payments');

@Module({
  imports: [LedgerModule, MailModule],
  providers: [
    AccountStatementRepository,
    BillingSettingsService,
    LowBalanceRepository,
    LowBalanceService,
    PaymentEventService,
    PaymentProviders,
    PurchaseExpiryService,
    PurchaseService,
  ],
  exports: [AccountStatementRepository, BillingSettingsService, PaymentEventService, PaymentProviders, PurchaseService],
})
export class PaymentsModule implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly tasks: readonly PeriodicTask[];

  constructor(balances: LowBalanceService, expiry: PurchaseExpiryService) {
    this.tasks = [
      repeat('low_balance_check_failed', 'low balances could not be checked', () => balances.sendNotices()),
      repeat('purchase_expiry_failed', 'purchases could not be expired', () => expiry.sweep()),
    ];
  }

  onApplicationBootstrap(): void {
    for (const task of this.tasks) void task.start();
  }

  async onApplicationShutdown(): Promise<void> {
    await Promise.all(this.tasks.map((task) => task.stop()));
  }
}

function repeat(event: string, message: string, work: () => Promise<unknown>): PeriodicTask {
  return new PeriodicTask({
    run: async () => {
      await work();
    },
    pauseMs: () => INTERVAL_MS,
    onError: (error) => logger.warn({ event, message, failure: String(error) }),
  });
}
