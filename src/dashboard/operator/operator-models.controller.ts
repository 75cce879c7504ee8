import { Body, Controller, Get, HttpCode, Param, Patch, Post, Query } from '@nestjs/common';
import { toPage } from '../../core/types/page';
import { decodeCursor } from '../../core/types/cursor';
import { requireUuid } from '../../core/types/require-uuid';
import { DEFAULT_PAGE_LIMIT, PageQuery } from '../../core/validation/query-fields';
import { strictDto } from '../../core/validation/strict-dto.pipe';
import type { components } from '../../contract/dashboard';
import { CatalogAdminService } from '../../models/catalog-admin.service';
import { NO_SUCH_PRICE, PriceAdminService } from '../../models/price-admin.service';
import { toList } from '../list';
import { Session } from '../../core/http/route.decorators';
import { Caller, type DashboardCaller } from '../session/caller';
import { toModelRecord, toPriceRecord } from './catalog-record';
import { ModelUpdateDto, PriceVersionCreationDto, PriceVersionEndDto } from './dto/catalog.dto';
import { toLimitChanges } from './dto/rate-limits.dto';

type Schemas = components['schemas'];

/** A model id is `<vendor>/<name>`. */
@Controller('dashboard/api/operator/models')
export class OperatorModelsController {
  constructor(
    private readonly catalog: CatalogAdminService,
    private readonly prices: PriceAdminService,
  ) {}

  @Get()
  @Session('operator')
  async listOperatorModels(): Promise<Schemas['OperatorModelList']> {
    return { object: 'list', data: (await this.catalog.listModels()).map(toModelRecord), next_cursor: null };
  }

  @Patch(':vendor/:name')
  @Session('operator')
  async updateModel(
    @Param('vendor') vendor: string,
    @Param('name') name: string,
    @Body(strictDto) body: ModelUpdateDto,
    @Caller() { actor }: DashboardCaller,
  ): Promise<Schemas['OperatorModel']> {
    const changes = { enabled: body.enabled, limits: toLimitChanges(body) };
    return toModelRecord(await this.catalog.updateModel(`${vendor}/${name}`, changes, actor));
  }

  @Get(':vendor/:name/prices')
  @Session('operator')
  async listPriceVersions(
    @Param('vendor') vendor: string,
    @Param('name') name: string,
    @Query(strictDto) { limit = DEFAULT_PAGE_LIMIT, cursor }: PageQuery,
  ): Promise<Schemas['PriceVersionList']> {
    const [beforeId = null] = cursor === undefined ? [] : decodeCursor(cursor, ['uuid']);
    const versions = await this.prices.list(`${vendor}/${name}`, { limit: limit + 1, beforeId });
    return toList(
      toPage(versions, limit, ({ id }) => [id]),
      toPriceRecord,
    );
  }

  @Post(':vendor/:name/prices')
  @Session('operator')
  async createPriceVersion(
    @Param('vendor') vendor: string,
    @Param('name') name: string,
    @Body(strictDto) body: PriceVersionCreationDto,
    @Caller() { actor }: DashboardCaller,
  ): Promise<Schemas['PriceVersion']> {
    const { deployment_id, effective_from, effective_to, reference, price } = body;
    const deploymentId = deployment_id == null ? null : requireUuid(deployment_id, 'The model has no such deployment.');
    const input = { deploymentId, effectiveFrom: effective_from, effectiveTo: effective_to, reference, price };
    return toPriceRecord(await this.prices.add(`${vendor}/${name}`, input, actor));
  }

  @Post(':vendor/:name/prices/:price_version_id/withdraw')
  @HttpCode(200)
  @Session('operator')
  async withdrawPriceVersion(
    @Param('vendor') vendor: string,
    @Param('name') name: string,
    @Param('price_version_id') id: string,
    @Caller() { actor }: DashboardCaller,
  ): Promise<Schemas['PriceVersion']> {
    return toPriceRecord(await this.prices.withdraw(`${vendor}/${name}`, requireUuid(id, NO_SUCH_PRICE), actor));
  }

  @Post(':vendor/:name/prices/:price_version_id/end')
  @HttpCode(200)
  @Session('operator')
  async endPriceVersion(
    @Param('vendor') vendor: string,
    @Param('name') name: string,
    @Param('price_version_id') id: string,
    @Body(strictDto) { effective_to: effectiveTo, reference }: PriceVersionEndDto,
    @Caller() { actor }: DashboardCaller,
  ): Promise<Schemas['PriceVersion']> {
    const ending = { effectiveTo, reference };
    return toPriceRecord(await this.prices.end(`${vendor}/${name}`, requireUuid(id, NO_SUCH_PRICE), ending, actor));
  }
}
