import { Controller, Get, Inject } from '@nestjs/common';
import type { components } from '../../contract/dashboard';
import { APP_CONFIG, type AppConfig } from '../../core/config/app-config';
import { Session } from '../../core/http/route.decorators';
import { Mailer } from '../../core/mail/mailer';
import { SERVICE_VERSION } from '../../core/types/service-version';

@Controller('dashboard/api/about')
export class AboutController {
  constructor(
    private readonly mailer: Mailer,
    @Inject(APP_CONFIG) private readonly config: AppConfig,
  ) {}

  @Get()
  @Session('anonymous')
  getAbout(): components['schemas']['About'] {
    const { destination } = this.mailer;
    const { usage, payments, dashboard } = this.config;
    return {
      object: 'about',
      version: SERVICE_VERSION,
      mail: { destination: destination.kind, folder: destination.kind === 'folder' ? destination.path : null },
      registration: destination.kind !== 'none',
      sells_credit: payments.provider !== 'none',
      receipt_retention_days: usage.retentionDays === 0 ? null : usage.retentionDays,
      session_idle_seconds: dashboard.sessions.idleMs / 1000,
    };
  }
}
