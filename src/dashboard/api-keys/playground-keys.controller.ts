import { Controller, Post } from '@nestjs/common';
import { PlaygroundKeyService } from '../../auth/api-keys/playground-key.service';
import type { PlaygroundKey } from '../../contract/dashboard';
import { Session } from '../../core/http/route.decorators';
import { Caller, type DashboardCaller, requireOrganization } from '../session/caller';

/** Keys that pages of the dashboard use to call `/v1`. */
@Controller('dashboard/api/organizations/:organization_id/playground-keys')
export class PlaygroundKeysController {
  constructor(private readonly keys: PlaygroundKeyService) {}

  @Post()
  @Session('developer')
  async createPlaygroundKey(@Caller() caller: DashboardCaller): Promise<PlaygroundKey> {
    const { key, apiKeyId, expiresAt } = await this.keys.issue(requireOrganization(caller), caller);
    return { object: 'playground_key', key, api_key_id: apiKeyId, expires_at: expiresAt.toISOString() };
  }
}
