import { Module } from '@nestjs/common';
import { UsageModule } from '../../billing/usage/usage.module';
import { UsageController } from './usage.controller';

@Module({ imports: [UsageModule], controllers: [UsageController] })
export class DashboardUsageModule {}
