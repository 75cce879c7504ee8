import { Module } from '@nestjs/common';
import { PaymentsModule } from '../../billing/payments/payments.module';
import { BillingController } from './billing.controller';
import { PaymentsController } from './payments.controller';
import { PurchasesController } from './purchases.controller';

@Module({ imports: [PaymentsModule], controllers: [BillingController, PurchasesController, PaymentsController] })
export class BillingDashboardModule {}
