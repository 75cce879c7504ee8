import { Module } from '@nestjs/common';
import { ModelsModule } from '../../models/models.module';
import { DashboardModelsController } from './dashboard-models.controller';

/** Models and prices, for members without an API key. */
@Module({ imports: [ModelsModule], controllers: [DashboardModelsController] })
export class DashboardModelsModule {}
