import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Controller, Get, Header, Inject, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { APP_CONFIG, type AppConfig } from '../core/config/app-config';
import { Public } from '../core/http/route.decorators';

/** The server URL in the bundled document. */
const PLACEHOLDER = 'https://gateway.example.com';
/** Name or IP address with an optional port. Nothing else from a Host header may reach the document. */
const HOST = /^(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?$/;

/** Serves the documents, naming this deployment as their default server. */
@Controller()
export class OpenapiController {
  private readonly api = readBundle('openapi.yaml');
  private readonly dashboard = readBundle('dashboard.yaml');

  constructor(@Inject(APP_CONFIG) private readonly config: AppConfig) {}

  @Get('openapi.yaml')
  @Public()
  @Header('content-type', 'application/yaml; charset=utf-8')
  @Header('cache-control', 'no-store')
  getOpenapiDocument(@Req() request: FastifyRequest): string {
    return this.atHome(this.api, request);
  }

  @Get('dashboard/openapi.yaml')
  @Public()
  @Header('content-type', 'application/yaml; charset=utf-8')
  @Header('cache-control', 'no-store')
  getDashboardDocument(@Req() request: FastifyRequest): string {
    return this.atHome(this.dashboard, request);
  }

  private atHome(bundle: string, request: FastifyRequest): string {
    return bundle.replace(PLACEHOLDER, () => this.config.http.publicBaseUrl ?? addressOf(request));
  }
}

function readBundle(name: string): string {
  return readFileSync(join(__dirname, '../contract', name), 'utf8');
}

/** Without a configured base URL, the URL of this request is used. */
function addressOf({ protocol, host }: FastifyRequest): string {
  return HOST.test(host) && /^https?$/.test(protocol) ? `${protocol}://${host}` : '/';
}
