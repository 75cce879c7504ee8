/**
 * The catalogue of models: files in, rows in PostgreSQL, an in-memory snapshot for requests, `GET /v1/models` out.
 * Neighbours: `providers` provides the configured providers; `routing`, `billing` and `inference` read the snapshot.
 * Invariant: a model that is retired, or has no price or no configured provider, is neither listed nor callable.
 */
import { SchedulingModule } from '../core/scheduling/scheduling.module';
import { Inject, Logger, Module, type OnModuleInit } from '@nestjs/common';
import type { RedisClient } from '../core/redis/redis-client';
import { CLOCK, type Clock } from '../core/time/clock';
import { APP_CONFIG, type AppConfig } from '../core/config/app-config';
import { ProvidersModule } from '../providers/providers.module';
import { ProvidersService } from '../providers/providers.service';
import { REDIS } from '../core/redis/redis.module';
import { CatalogAdminService } from './catalog-admin.service';
import {
  CatalogAnnouncer,
  CatalogChangeListener,
  ModelCatalogService,
  publishCatalogChange,
} from './model-catalog.service';
import { importCatalog } from './catalog-import';
import { CatalogRepository } from './catalog.repository';
import { formatProblem, loadCatalog } from './load-catalog';
import { ModelListingService } from './model-listing.service';
import { ModelsController } from './models.controller';
import { PriceAdminService } from './price-admin.service';
import { findWarnings } from './review-catalog';

@Module({
  imports: [SchedulingModule, ProvidersModule],
  controllers: [ModelsController],
  providers: [
    CatalogAdminService,
    CatalogAnnouncer,
    CatalogChangeListener,
    CatalogRepository,
    ModelCatalogService,
    ModelListingService,
    PriceAdminService,
  ],
  exports: [CatalogRepository, ModelCatalogService, ModelListingService, CatalogAdminService, PriceAdminService],
})
export class ModelsModule implements OnModuleInit {
  private readonly logger = new Logger('ModelCatalog');

  constructor(
    private readonly repository: CatalogRepository,
    private readonly catalog: ModelCatalogService,
    @Inject(APP_CONFIG) private readonly config: AppConfig,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(REDIS) private readonly redis: RedisClient,
    providers: ProvidersService,
  ) {
    // Serves the models of a newly configured provider at once.
    providers.onChange(() => this.catalog.refresh());
  }

  /** Startup fails on an invalid catalogue file, because serving with a partial price list is worse. */
  async onModuleInit(): Promise<void> {
    const models = await loadCatalog(this.config.catalogDir);
    for (const warning of findWarnings(models)) {
      this.logger.warn({ event: 'catalog_warning', message: formatProblem(warning) });
    }
    const { added, changed, disabled, prices } = await importCatalog(this.repository, models, this.clock.now());
    await this.catalog.start();
    if (added.length + changed.length + disabled.length + prices > 0) await publishCatalogChange(this.redis);
    this.logger.log(
      `Imported: ${added.length} models added, ${changed.length} changed, ${disabled.length} disabled, ` +
        `${prices} prices; ${this.catalog.list().length} can be called.`,
    );
  }
}
