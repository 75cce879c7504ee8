import { Module } from '@nestjs/common';
import { UsageModule } from '../../usage/usage.module';
import { UsageController } from './usage.controller';

@Module({ imports: [UsageModule], controllers: [UsageController] })
export class DashboardUsageModule {}
