/**
 * Buying credit: purchases within limits, payment providers, and the account statement. Only verified events credit
 * money, each of them once (`PaymentEventService`).
 */
import { Module } from '@nestjs/common';
import { LedgerModule } from '../billing.module';
import { SchedulingModule } from '../../core/scheduling/scheduling.module';
import { MailModule } from '../../core/mail/mail.module';
import { AccountStatementRepository } from './account-statement.repository';
import { BillingSettingsService } from './billing-settings.service';
import { LowBalanceRepository, LowBalanceService } from './low-balance.service';
import { PaymentEventService } from './payment-event.service';
import { PaymentProviders } from './payment-providers';
import { PaymentSweeps } from './payment-sweeps';
import { PurchaseService } from './purchase.service';

@Module({
  imports: [LedgerModule, MailModule, SchedulingModule],
  providers: [
    AccountStatementRepository,
    BillingSettingsService,
    LowBalanceRepository,
    LowBalanceService,
    PaymentEventService,
    PaymentProviders,
    PaymentSweeps,
    PurchaseService,
  ],
  exports: [AccountStatementRepository, BillingSettingsService, PaymentEventService, PaymentProviders, PurchaseService],
})
export class PaymentsModule {}
