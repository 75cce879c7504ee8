import { Module } from '@nestjs/common';
import { StorageModule } from '../../core/storage/storage.module';
import { PagesController } from './pages.controller';

/** Serves the pages of the dashboard. */
@Module({ imports: [StorageModule], controllers: [PagesController] })
export class DashboardPagesModule {}
