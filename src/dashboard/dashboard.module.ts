import { Module } from '@nestjs/common';
import { BillingDashboardModule } from './billing/billing-dashboard.module';
import { DashboardAccountsModule } from './accounts/dashboard-accounts.module';
import { DashboardAboutModule } from './about/about.module';
import { DashboardModelsModule } from './models/dashboard-models.module';
import { DashboardUsageModule } from './usage/dashboard-usage.module';
import { DashboardKeysModule } from './api-keys/dashboard-api-keys.module';
import { DashboardOrganizationsModule } from './organizations/dashboard-organizations.module';
import { DashboardExplainModule } from './explain/dashboard-explain.module';
import { DashboardJobsModule } from './jobs/dashboard-jobs.module';
import { DashboardWebhooksModule } from './webhooks/dashboard-webhooks.module';
import { OperatorModule } from './operator/operator.module';
import { DashboardPagesModule } from './pages/pages.module';
import { DashboardSessionModule } from './session/dashboard-session.module';

/** The control plane: one folder per group of operations. */
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
    DashboardModelsModule,
    DashboardAboutModule,
    DashboardPagesModule,
  ],
})
export class DashboardModule {}
