import { Body, Controller, Get, HttpCode, Param, Patch, Post, Query } from '@nestjs/common';
import { requireUuid } from '../../core/types/require-uuid';
import { strictDto } from '../../core/validation/strict-dto.pipe';
import type { ApiKey, ApiKeyList, IssuedApiKey, RotatedApiKey } from '../../contract/dashboard';
import type { ApiKeyEntity } from '../../core/database/entities/api-key.entity';
import { ApiKeyReader } from '../../auth/api-keys/api-key.reader';
import { ApiKeyService } from '../../auth/api-keys/api-key.service';
import { toList, toPageRequest } from '../list';
import { Session } from '../../core/http/route.decorators';
import { Caller, type DashboardCaller, requireOrganization } from '../session/caller';
import { ApiKeyQuery, ApiKeyRotationDto, ApiKeySettingsDto } from './dto/api-key.dto';
import { toApiKey } from './to-api-key';
import { toKeySettings } from './to-key-settings';

/** The API keys of an organization. */
@Controller('dashboard/api/organizations/:organization_id/keys')
export class KeysController {
  constructor(
    private readonly keys: ApiKeyService,
    private readonly reader: ApiKeyReader,
  ) {}

  @Get()
  @Session('viewer')
  async listApiKeys(@Query(strictDto) query: ApiKeyQuery, @Caller() caller: DashboardCaller): Promise<ApiKeyList> {
    return toList(await this.reader.page(requireOrganization(caller), query, toPageRequest(query)), toApiKey);
  }

  @Post()
  @Session('developer')
  async createApiKey(
    @Body(strictDto) body: ApiKeySettingsDto,
    @Caller() caller: DashboardCaller,
  ): Promise<IssuedApiKey> {
    const { key, apiKey } = await this.keys.create(requireOrganization(caller), toKeySettings(body), caller.actor);
    return { object: 'issued_api_key', key, api_key: await this.show(apiKey) };
  }

  @Get(':key_id')
  @Session('viewer')
  async getApiKey(@Param('key_id') id: string, @Caller() caller: DashboardCaller): Promise<ApiKey> {
    return toApiKey(await this.reader.require(requireKeyId(id), requireOrganization(caller)));
  }

  @Patch(':key_id')
  @Session('developer')
  async updateApiKey(
    @Param('key_id') id: string,
    @Body(strictDto) body: ApiKeySettingsDto,
    @Caller() caller: DashboardCaller,
  ): Promise<ApiKey> {
    const organizationId = requireOrganization(caller);
    return this.show(await this.keys.update(requireKeyId(id), organizationId, toKeySettings(body), caller.actor));
  }

  @Post(':key_id/disable')
  @HttpCode(200)
  @Session('developer')
  async disableApiKey(@Param('key_id') id: string, @Caller() caller: DashboardCaller): Promise<ApiKey> {
    return this.show(await this.keys.disable(requireKeyId(id), requireOrganization(caller), caller.actor));
  }

  @Post(':key_id/enable')
  @HttpCode(200)
  @Session('developer')
  async enableApiKey(@Param('key_id') id: string, @Caller() caller: DashboardCaller): Promise<ApiKey> {
    return this.show(await this.keys.enable(requireKeyId(id), requireOrganization(caller), caller.actor));
  }

  @Post(':key_id/rotate')
  @HttpCode(200)
  @Session('developer')
  async rotateApiKey(
    @Param('key_id') id: string,
    @Body(strictDto) { grace_seconds: graceSeconds }: ApiKeyRotationDto,
    @Caller() caller: DashboardCaller,
  ): Promise<RotatedApiKey> {
    const organizationId = requireOrganization(caller);
    const rotated = await this.keys.rotate(requireKeyId(id), organizationId, graceSeconds ?? 0, caller.actor);
    return {
      object: 'rotated_api_key',
      key: rotated.key,
      api_key: await this.show(rotated.apiKey),
      replaced: await this.show(rotated.replaced),
    };
  }

  @Post(':key_id/revoke')
  @HttpCode(200)
  @Session('developer')
  async revokeApiKey(@Param('key_id') id: string, @Caller() caller: DashboardCaller): Promise<ApiKey> {
    return this.show(await this.keys.revoke(requireKeyId(id), requireOrganization(caller), caller.actor));
  }

  private async show(apiKey: ApiKeyEntity): Promise<ApiKey> {
    return toApiKey(await this.reader.withUse(apiKey));
  }
}

function requireKeyId(text: string): string {
  return requireUuid(text, 'There is no such API key.');
}
