import { Module } from '@nestjs/common';
import { BillingAccounts } from './billing-accounts';
import { LedgerService } from './ledger.service';

/** Accounts, credits and the audit, without anything that runs by itself: what the command line needs. */
@Module({ providers: [LedgerService, BillingAccounts], exports: [LedgerService, BillingAccounts] })
export class LedgerModule {}
