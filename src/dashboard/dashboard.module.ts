import { Module } from '@nestjs/common';
import { BillingDashboardModule } from './billing/billing-dashboard.module';
import { DashboardAccountsModule } from './accounts/dashboard-accounts.module';
import { DashboardUsageModule } from './usage/dashboard-usage.module';
import { DashboardKeysModule } from './keys/keys.module';
import { DashboardOrganizationsModule } from './organizations/organizations.module';
import { DashboardExplainModule } from './explain/dashboard-explain.module';
import { DashboardJobsModule } from './jobs/dashboard-jobs.module';
import { DashboardWebhooksModule } from './webhooks/dashboard-webhooks.module';
import { OperatorModule } from './operator/operator.module';
import { DashboardSessionModule } from './session/dashboard-session.module';

/** The control plane (contract section 5, *Dashboard API*): one folder for each family of its operations. */
@Module({
  imports: [
    DashboardSessionModule,
    DashboardAccountsModule,
    BillingDashboardModule,
    DashboardUsageModule,
    DashboardOrganizationsModule,
    DashboardKeysModule,
    DashboardJobsModule,
    DashboardWebhooksModule,
    DashboardExplainModule,
    OperatorModule,
  ],
})
export class DashboardModule {}
