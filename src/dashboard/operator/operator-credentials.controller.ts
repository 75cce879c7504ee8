import { Body, Controller, Delete, Get, HttpCode, Param, Put } from '@nestjs/common';
import type { components } from '../../contract/dashboard';
import { type CredentialRecord, CredentialService } from '../../models/credentials/credential.service';
import { Session } from '../../core/http/route.decorators';
import { Caller, type DashboardCaller } from '../session/caller';
import { CredentialUpdateDto } from './dto/credential.dto';
import { strictDto } from '../../core/validation/strict-dto.pipe';

type Schemas = components['schemas'];

@Controller('dashboard/api/operator/credentials')
export class OperatorCredentialsController {
  constructor(private readonly credentials: CredentialService) {}

  @Get()
  @Session('operator')
  async listCredentials(): Promise<Schemas['CredentialList']> {
    return { object: 'list', data: (await this.credentials.list()).map(toRecord), next_cursor: null };
  }

  @Put(':name')
  @Session('operator')
  async setCredential(
    @Param('name') name: string,
    @Body(strictDto) { value }: CredentialUpdateDto,
    @Caller() { actor }: DashboardCaller,
  ): Promise<Schemas['Credential']> {
    return toRecord(await this.credentials.set(name, value, actor));
  }

  @Delete(':name')
  @HttpCode(204)
  @Session('operator')
  async deleteCredential(@Param('name') name: string, @Caller() { actor }: DashboardCaller): Promise<void> {
    await this.credentials.remove(name, actor);
  }
}

function toRecord({ name, source, stored }: CredentialRecord): Schemas['Credential'] {
  return {
    object: 'credential',
    name,
    source,
    stored:
      stored === null
        ? null
        : {
            key_id: stored.keyId,
            readable: stored.readable,
            last4: stored.last4,
            updated_at: stored.updatedAt.toISOString(),
          },
  };
}
