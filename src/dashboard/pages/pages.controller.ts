import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Controller, Get, Param, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { GatewayError } from '../../core/errors/gateway-error';
import { Public } from '../../core/http/route.decorators';
import { linkPage, type PageName } from './link-pages';
import { PAGE_HEADERS } from './page-policy';

const NAMES: readonly PageName[] = ['verify-email', 'reset-password', 'accept-invitation', 'billing'];

/**
 * Pages that mails and payment providers link to. Tokens are in the URL fragment, which browsers do
 * not send; `assets/link-pages.js` sends them to the API in a request body.
 */
@Controller('dashboard')
export class PagesController {
  private readonly assets: ReadonlyMap<string, { readonly type: string; readonly content: Buffer }> = new Map([
    ['link-pages.js', { type: 'text/javascript; charset=utf-8', content: readAsset('link-pages.js') }],
    ['link-pages.css', { type: 'text/css; charset=utf-8', content: readAsset('link-pages.css') }],
  ]);

  @Get(':page')
  @Public()
  getPage(
    @Param('page') page: string,
    @Query('outcome') outcome: unknown,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): string {
    const name = NAMES.find((known) => known === page);
    if (name === undefined) throw new GatewayError('not_found', 'There is no such page.');
    reply.headers(PAGE_HEADERS);
    return linkPage(name, outcome);
  }

  @Get('assets/:file')
  @Public()
  getPageFile(@Param('file') file: string, @Res({ passthrough: true }) reply: FastifyReply): Buffer {
    const asset = this.assets.get(file);
    if (asset === undefined) throw new GatewayError('not_found', 'There is no such file.');
    reply.headers({
      'content-type': asset.type,
      'cache-control': 'no-cache',
      'x-content-type-options': 'nosniff',
      'cross-origin-resource-policy': 'same-origin',
    });
    return asset.content;
  }
}

function readAsset(name: string): Buffer {
  return readFileSync(join(__dirname, 'assets', name));
}
