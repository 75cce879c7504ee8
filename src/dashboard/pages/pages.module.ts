import { Module } from '@nestjs/common';
import { PagesController } from './pages.controller';

/** HTML pages that mails and payment providers link to. */
@Module({ controllers: [PagesController] })
export class DashboardPagesModule {}
