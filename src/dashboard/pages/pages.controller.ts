import { randomUUID } from 'node:crypto';
import { Controller, Get, Inject, Param, Req, Res } from '@nestjs/common';
import { parseCookie } from 'cookie';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { GatewayError } from '../../core/errors/gateway-error';
import { negotiateEncoding } from '../../core/http/content-encoding';
import { isFresh } from '../../core/http/entity-tag';
import { Public } from '../../core/http/route.decorators';
import { toObjectKey } from '../../core/storage/object-key';
import { OBJECT_STORAGE, type ObjectStorage } from '../../core/storage/object-storage';
import { readPageFiles, type PageFile } from './page-files';
import { ASSET_HEADERS, pageHeaders } from './page-policy';

const THEMES: ReadonlySet<string | undefined> = new Set(['light', 'dark']);
const ROOT_ELEMENT = '<html lang="en">';

/**
 * Serves the pages of the dashboard, which `src/web` builds. They decide nothing: the API enforces permissions and
 * limits.
 */
@Controller()
export class PagesController {
  private readonly files: ReadonlyMap<string, PageFile> = readPageFiles();

  constructor(@Inject(OBJECT_STORAGE) private readonly storage: ObjectStorage | null) {}

  /** Redirects browsers that open the gateway's bare address to the dashboard. */
  @Get()
  @Public()
  getHome(@Req() request: FastifyRequest, @Res({ passthrough: true }) reply: FastifyReply): undefined {
    assertWantsHtml(request);
    reply.header('vary', 'Accept').redirect('/dashboard', 302);
  }

  @Get('dashboard')
  @Public()
  getDashboard(@Req() request: FastifyRequest, @Res({ passthrough: true }) reply: FastifyReply): Promise<Sent> {
    return this.sendPage(request, reply);
  }

  /** Serves the same page for every path: its router shows the view, or that it does not exist. */
  @Get('dashboard/*')
  @Public()
  getPage(@Req() request: FastifyRequest, @Res({ passthrough: true }) reply: FastifyReply): Promise<Sent> {
    return this.sendPage(request, reply);
  }

  /** Never serves the page for an unknown file, so that a tab with an older version notices that its file is gone. */
  @Get('dashboard/assets/:file')
  @Public()
  getPageFile(
    @Param('file') name: string,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Sent {
    const file = this.files.get(`assets/${name}`);
    if (file === undefined) {
      reply.header('cache-control', 'no-store');
      throw new GatewayError('not_found', 'There is no such file.');
    }
    reply.headers(ASSET_HEADERS).type(file.contentType);
    const encoding = negotiateEncoding(request.headers['accept-encoding']);
    if (isFresh(request, reply, `"${file.sha256}-${encoding}"`)) return undefined;
    if (encoding !== 'plain') reply.header('content-encoding', encoding);
    return file.content[encoding];
  }

  private async sendPage(request: FastifyRequest, reply: FastifyReply): Promise<Sent> {
    if (request.url.startsWith('/dashboard/api')) throw new GatewayError('not_found', 'There is no such operation.');
    assertWantsHtml(request);
    const page = this.files.get('index.html');
    if (page === undefined) {
      throw new GatewayError('not_configured', 'The pages of the dashboard are not built. Run `npm run build`.');
    }
    reply.headers(pageHeaders(await this.storageOrigin())).type('text/html; charset=utf-8');
    const { theme } = parseCookie(request.headers.cookie ?? '');
    if (THEMES.has(theme)) {
      if (isFresh(request, reply, `"${page.sha256}-${theme}"`)) return undefined;
      return page.content.plain.toString().replace(ROOT_ELEMENT, `<html lang="en" data-theme="${theme}">`);
    }
    const encoding = negotiateEncoding(request.headers['accept-encoding']);
    if (isFresh(request, reply, `"${page.sha256}-${encoding}"`)) return undefined;
    if (encoding !== 'plain') reply.header('content-encoding', encoding);
    return page.content[encoding];
  }

  /** The origin of signed output URLs: the bucket's or this gateway's, whose public name may differ. */
  private async storageOrigin(): Promise<string | null> {
    if (this.storage === null) return null;
    const owner = { kind: 'image', organizationId: randomUUID(), id: randomUUID() } as const;
    const { url } = await this.storage.sign(toObjectKey(owner, 0, 'image/png'));
    return new URL(url).origin;
  }
}

/** `undefined`: the response has no body. */
type Sent = Buffer | string | undefined;

/** API clients never receive HTML. @throws GatewayError `not_found`. */
function assertWantsHtml({ headers }: FastifyRequest): void {
  if (headers.accept?.includes('text/html') !== true) throw new GatewayError('not_found', 'There is no such path.');
}
