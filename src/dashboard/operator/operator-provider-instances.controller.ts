import { Body, Controller, Delete, Get, HttpCode, Param, Put } from '@nestjs/common';
import type { components } from '../../contract/dashboard';
import { Session } from '../../core/http/route.decorators';
import { strictDto } from '../../core/validation/strict-dto.pipe';
import { type InstanceRecord, ProviderInstanceService } from '../../models/credentials/provider-instance.service';
import { Caller, type DashboardCaller } from '../session/caller';
import { ProviderInstanceUpdateDto } from './dto/credential.dto';

type Schemas = components['schemas'];

@Controller('dashboard/api/operator/provider-instances')
export class OperatorProviderInstancesController {
  constructor(private readonly instances: ProviderInstanceService) {}

  @Get()
  @Session('operator')
  async listProviderInstances(): Promise<Schemas['ProviderInstanceList']> {
    return { object: 'list', data: (await this.instances.list()).map(toRecord), next_cursor: null };
  }

  @Put(':id')
  @Session('operator')
  async setProviderInstance(
    @Param('id') id: string,
    @Body(strictDto) { module, base_url, api_keys, expected_updated_at }: ProviderInstanceUpdateDto,
    @Caller() { actor }: DashboardCaller,
  ): Promise<Schemas['ProviderInstance']> {
    const apiKeys = api_keys.map(({ id: keyId, key, weight }) => ({
      id: keyId ?? undefined,
      key: key ?? undefined,
      weight: weight ?? 1,
    }));
    const settings = { module, baseUrl: base_url ?? null, apiKeys, expectedUpdatedAt: expected_updated_at };
    return toRecord(await this.instances.set(id, settings, actor));
  }

  @Delete(':id')
  @HttpCode(204)
  @Session('operator')
  async deleteProviderInstance(@Param('id') id: string, @Caller() { actor }: DashboardCaller): Promise<void> {
    await this.instances.remove(id, actor);
  }
}

function toRecord({ id, source, settings, updatedAt }: InstanceRecord): Schemas['ProviderInstance'] {
  return {
    object: 'provider_instance',
    id,
    source,
    settings: settings && {
      module: settings.module,
      base_url: settings.baseUrl,
      api_keys: settings.apiKeys.map((key) => ({ ...key })),
    },
    updated_at: updatedAt?.toISOString() ?? null,
  };
}
