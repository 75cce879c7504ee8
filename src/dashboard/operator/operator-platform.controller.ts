import { Controller, Get } from '@nestjs/common';
import { InstanceDirectoryService, LEASE_LIFETIME_MS } from '../../billing/instance-directory.service';
import type { components } from '../../contract/dashboard';
import { ProviderAdminService } from '../../routing/provider-admin.service';
import { Access } from '../session/access.decorator';
import { toProviderRecord } from './health-record';

type Schemas = components['schemas'];

/** How the platform is: its providers and its processes. */
@Controller('dashboard/api/operator')
export class OperatorPlatformController {
  constructor(
    private readonly providers: ProviderAdminService,
    private readonly instances: InstanceDirectoryService,
  ) {}

  @Get('providers')
  @Access('operator')
  async listProviderHealth(): Promise<Schemas['ProviderHealthList']> {
    return { object: 'list', data: (await this.providers.list()).map(toProviderRecord), next_cursor: null };
  }

  @Get('instances')
  @Access('operator')
  async listInstances(): Promise<Schemas['InstanceList']> {
    const instances = await this.instances.list();
    const data = instances.map(({ id, version, startedAt, heartbeatAt, heartbeatAgeMs }) => ({
      object: 'instance' as const,
      id,
      version,
      started_at: startedAt.toISOString(),
      heartbeat_at: heartbeatAt.toISOString(),
      heartbeat_age_ms: heartbeatAgeMs,
      alive: heartbeatAgeMs < LEASE_LIFETIME_MS,
    }));
    return { object: 'list', data, next_cursor: null };
  }
}
