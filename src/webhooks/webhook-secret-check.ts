import { Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { canOpenFirst } from '../core/secrets/reseal';
import { SecretBox } from '../core/secrets/secret-box';
import { webhookSecretTable } from './webhook-secret.repository';

/**
 * Logs the cause when a changed `SECRETS_KEY` cannot open the webhook secrets. Reads only one of them: the oldest
 * organization's, which was most likely sealed before the change. Stored credentials need no such check, because every
 * process opens all of them at its start.
 */
@Injectable()
export class WebhookSecretCheck implements OnApplicationBootstrap {
  private readonly logger = new Logger('Webhooks');

  constructor(
    private readonly dataSource: DataSource,
    private readonly box: SecretBox,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    if (await canOpenFirst(webhookSecretTable(this.dataSource), this.box)) return;
    this.logger.error({
      event: 'secrets_key_changed',
      message:
        'SECRETS_KEY cannot open the stored webhook secrets: the webhooks of their organizations wait. ' +
        'Add the earlier key after the new one, separated by a comma, and run "gateway secrets reseal"',
    });
  }
}
