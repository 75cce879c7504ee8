/**
 * The catalogue for requests: an immutable snapshot in memory, so that no request waits for the database. It is rebuilt
 * every 30 seconds and on change messages; during a database outage the last one is used. Neighbours:
 * `catalog-import.ts` fills the tables; routing, billing and inference read the models.
 */
import { isDeepStrictEqual } from 'node:util';
import { Inject, Injectable, Logger, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import { Cron, CronExpression } from '@nestjs/schedule';
import type { RedisClient } from '../core/redis/redis-client';
import { GatewayError } from '../core/errors/gateway-error';
import { RedisSubscription } from '../core/redis/redis-subscription';
import { REDIS } from '../core/redis/redis.module';
import { scheduled } from '../core/scheduling/scheduling.module';
import { type Clock, CLOCK } from '../core/time/clock';
import { ProvidersService } from '../providers/providers.service';
import {
  type ActivePrice,
  type CatalogModel,
  type Deployment,
  findActivePrice,
  type PriceVersion,
} from './catalog-model';
import type { StoredCatalog } from './catalog-rows';
import { CatalogRepository } from './catalog.repository';
import { buildSnapshot, type CatalogSnapshot } from './serving';

@Injectable()
export class ModelCatalogService {
  private readonly logger = new Logger(ModelCatalogService.name);
  private readonly activePrices = new WeakMap<readonly PriceVersion[], ActivePrice>();
  private snapshot: CatalogSnapshot = { models: [], byName: new Map() };
  private refreshing: Promise<void> | null = null;

  constructor(
    @Inject(CatalogRepository) private readonly source: { read(): Promise<StoredCatalog> },
    @Inject(ProvidersService) private readonly providers: Pick<ProvidersService, 'configuredIds'>,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** Takes the first snapshot. Rejects when the database cannot be read. */
  async start(): Promise<void> {
    while (this.refreshing !== null) await this.refreshing;
    await this.load();
  }

  /**
   * Reloads the catalogue. Never rejects: when it cannot be read, the last snapshot stays. A call during another one
   * waits for it and reads again, since the first may have missed the latest change.
   */
  @Cron(CronExpression.EVERY_30_SECONDS, scheduled('models.catalog'))
  async refresh(): Promise<void> {
    if (this.refreshing !== null) await this.refreshing;
    if (this.refreshing !== null) return this.refreshing;
    try {
      await this.load();
    } catch (error) {
      this.logger.warn({
        event: 'catalog_read_failed',
        message: 'the model catalogue could not be read',
        failure: String(error),
      });
    }
  }

  /**
   * The model with this id or alias.
   * @throws GatewayError `model_not_found`, naming `param`, when no such model can be called.
   */
  require(name: string, param = 'model'): CatalogModel {
    const model = this.snapshot.byName.get(name);
    if (model === undefined) {
      throw new GatewayError('model_not_found', `There is no model ${JSON.stringify(name)}.`, { param });
    }
    return model;
  }

  /** Every model that can be called, sorted by id. The same array until the catalogue changes. */
  list(): readonly CatalogModel[] {
    return this.snapshot.models;
  }

  /**
   * The price of the model at this deployment: the deployment's own, else the model's. `null` when none is in force.
   * Searches only after a price began or ended; otherwise one lookup per history.
   */
  currentPrice(model: CatalogModel, deployment: Deployment, nowMs: number): PriceVersion | null {
    const own = deployment.prices.length > 0 ? this.activeIn(deployment.prices, nowMs) : null;
    return own ?? this.activeIn(model.prices, nowMs);
  }

  private activeIn(history: readonly PriceVersion[], nowMs: number): PriceVersion | null {
    let active = this.activePrices.get(history);
    if (active === undefined || nowMs < active.fromMs || nowMs >= active.untilMs) {
      active = findActivePrice(history, nowMs);
      this.activePrices.set(history, active);
    }
    return active.version;
  }

  /** Runs one at a time, so that an older result cannot overwrite a newer one. */
  private load(): Promise<void> {
    const loading = this.reload();
    this.refreshing = loading
      .catch(() => undefined)
      .finally(() => {
        this.refreshing = null;
      });
    return loading;
  }

  /** Keeps the old objects when nothing changed, because other services use them as cache keys. */
  private async reload(): Promise<void> {
    const next = buildSnapshot(await this.source.read(), this.providers.configuredIds, this.clock.now());
    if (!isDeepStrictEqual(next, this.snapshot)) this.snapshot = next;
  }
}

const CATALOG_CHANGE_CHANNEL = 'gateway:catalog';

/**
 * Makes every process reload the catalogue. Call it after the change is committed. Never rejects: without Redis the
 * next periodic refresh applies the change within 30 seconds.
 */
export async function publishCatalogChange(transport: {
  publish(channel: string, message: string): Promise<unknown>;
}): Promise<void> {
  await transport.publish(CATALOG_CHANGE_CHANNEL, 'changed').catch(() => undefined);
}

/** Makes a change of the catalogue take effect: in this process at once, in others on the message. */
@Injectable()
export class CatalogAnnouncer {
  constructor(
    private readonly catalog: ModelCatalogService,
    @Inject(REDIS) private readonly redis: RedisClient,
  ) {}

  /** Never rejects. */
  async announce(): Promise<void> {
    await Promise.all([publishCatalogChange(this.redis), this.catalog.refresh()]);
  }
}

/** Refreshes the snapshot of this process on change messages. Without Redis, the periodic refresh applies changes. */
@Injectable()
export class CatalogChangeListener implements OnModuleInit, OnModuleDestroy {
  private readonly subscription: RedisSubscription;

  constructor(@Inject(REDIS) redis: RedisClient, catalog: ModelCatalogService) {
    const refresh = (): void => void catalog.refresh();
    this.subscription = new RedisSubscription(redis, CATALOG_CHANGE_CHANNEL, {
      onMessage: refresh,
      onListening: refresh,
    });
  }

  onModuleInit(): void {
    this.subscription.start();
  }

  onModuleDestroy(): void {
    this.subscription.stop();
  }
}
