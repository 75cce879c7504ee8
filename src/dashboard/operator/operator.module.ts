import { Module } from '@nestjs/common';
import { AccountsModule } from '../accounts/accounts.module';
import { UserDirectoryService } from '../accounts/user-directory.service';
import { BalanceAdjustmentService } from '../../billing/ledger/ledger.service';
import { BillingModule } from '../../billing/billing.module';
import { UsageModule } from '../../billing/usage/usage.module';
import { TaskLeaseDirectory } from '../../core/scheduling/task-lease';
import { InstanceDirectoryService } from '../../billing/ledger/instance-lease.service';
import { CredentialsModule } from '../../models/credentials/credentials.module';
import { JobSummaryRepository } from '../../media-jobs/job-summary.repository';
import { ModelsModule } from '../../models/models.module';
import { OperatorOrganizationService } from '../organizations/operator-organization.service';
import { OrganizationsModule } from '../organizations/organizations.module';
import { PaymentsModule } from '../../billing/payments/payments.module';
import { ProvidersModule } from '../../providers/providers.module';
import { ProviderAdminService } from '../../models/routing/provider-admin.service';
import { RoutingModule } from '../../models/routing/routing.module';
import { OperatorActivityController } from './operator-activity.controller';
import { OperatorCredentialsController } from './operator-credentials.controller';
import { OperatorDeploymentsController } from './operator-deployments.controller';
import { OperatorInspectionController } from './operator-inspection.controller';
import { OperatorModelsController } from './operator-models.controller';
import { OperatorOrganizationsController } from './operator-organizations.controller';
import { OperatorPlatformController } from './operator-platform.controller';
import { OperatorProviderInstancesController } from './operator-provider-instances.controller';
import { OperatorUsersController } from './operator-users.controller';

/** Operator API: organizations, users, models and prices, providers and their credentials. */
@Module({
  imports: [
    AccountsModule,
    BillingModule,
    CredentialsModule,
    ModelsModule,
    OrganizationsModule,
    PaymentsModule,
    ProvidersModule,
    RoutingModule,
    UsageModule,
  ],
  controllers: [
    OperatorActivityController,
    OperatorCredentialsController,
    OperatorDeploymentsController,
    OperatorInspectionController,
    OperatorModelsController,
    OperatorOrganizationsController,
    OperatorPlatformController,
    OperatorProviderInstancesController,
    OperatorUsersController,
  ],
  providers: [
    BalanceAdjustmentService,
    InstanceDirectoryService,
    TaskLeaseDirectory,
    JobSummaryRepository,
    ProviderAdminService,
    UserDirectoryService,
    OperatorOrganizationService,
  ],
})
export class OperatorModule {}
