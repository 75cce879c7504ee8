import { Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { Cron, CronExpression } from '@nestjs/schedule';
import { EVERY_SECOND, logFailure, scheduled } from '../core/scheduling/scheduling.module';
import { WebhookDeliveryRepository } from './webhook-delivery.repository';
import { WebhookDeliveryService } from './webhook-delivery.service';

const PRUNE_BATCH = 1_000;

@Injectable()
export class WebhookSweeps implements OnModuleDestroy {
  private readonly logger = new Logger('Webhooks');
  private stopped = false;

  constructor(
    private readonly deliveries: WebhookDeliveryRepository,
    private readonly delivering: WebhookDeliveryService,
  ) {}

  onModuleDestroy(): void {
    this.stopped = true;
  }

  /** Finds deliveries whose wake-up was lost or whose process has died. */
  @Cron(EVERY_SECOND, scheduled('webhooks.due'))
  sweepDue(): Promise<void> {
    return this.delivering.claimSoon();
  }

  @Cron(CronExpression.EVERY_HOUR, scheduled('webhooks.prune'))
  async pruneOld(): Promise<void> {
    const failure = { event: 'webhook_prune_failed', message: 'failed to delete old webhook deliveries' };
    await logFailure(this.logger, failure, async () => {
      while (!this.stopped && (await this.deliveries.prune(PRUNE_BATCH)) === PRUNE_BATCH);
    });
  }
}
