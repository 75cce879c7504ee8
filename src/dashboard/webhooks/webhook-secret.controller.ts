import { Controller, Get, HttpCode, Post } from '@nestjs/common';
import type { components } from '../../contract/dashboard';
import { WebhookSecretService } from '../../webhooks/webhook-secret.service';
import { Session } from '../../core/http/route.decorators';
import { Caller, type DashboardCaller, requireOrganization } from '../session/caller';
import { toRevealedSecret, toWebhookSecret } from './webhook-replies';

type Schemas = components['schemas'];

@Controller('dashboard/api/organizations/:organization_id/webhook-secret')
export class WebhookSecretController {
  constructor(private readonly secrets: WebhookSecretService) {}

  @Get()
  @Session('admin')
  async getWebhookSecret(@Caller() caller: DashboardCaller): Promise<Schemas['WebhookSecret']> {
    return toWebhookSecret(await this.secrets.describe(requireOrganization(caller)));
  }

  @Post('reveal')
  @HttpCode(200)
  @Session('admin')
  async revealWebhookSecret(@Caller() caller: DashboardCaller): Promise<Schemas['RevealedWebhookSecret']> {
    return toRevealedSecret(await this.secrets.reveal(requireOrganization(caller), caller.actor));
  }

  @Post('rotate')
  @HttpCode(200)
  @Session('admin')
  async rotateWebhookSecret(@Caller() caller: DashboardCaller): Promise<Schemas['RevealedWebhookSecret']> {
    return toRevealedSecret(await this.secrets.rotate(requireOrganization(caller), caller.actor));
  }
}
