import { Module } from '@nestjs/common';
import { BillingAccounts } from './billing-accounts';
import { LedgerService } from './ledger.service';
import { SpendingOutlookService } from './spending-outlook.service';

/** Accounts, credits and the audit, without anything that runs by itself: what the command line needs. */
@Module({
  providers: [LedgerService, BillingAccounts, SpendingOutlookService],
  exports: [LedgerService, BillingAccounts, SpendingOutlookService],
})
export class LedgerModule {}
