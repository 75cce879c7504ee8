import { Module } from '@nestjs/common';
import { MailModule } from '../../core/mail/mail.module';
import { AboutController } from './about.controller';

/** Facts of the deployment that pages show before sign-in. */
@Module({ imports: [MailModule], controllers: [AboutController] })
export class DashboardAboutModule {}
