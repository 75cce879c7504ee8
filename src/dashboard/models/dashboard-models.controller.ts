import { createHash } from 'node:crypto';
import { Controller, Get, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { isFresh } from '../../core/http/entity-tag';
import { Session } from '../../core/http/route.decorators';
import { ModelListingService } from '../../models/model-listing.service';

@Controller('dashboard/api/models')
export class DashboardModelsController {
  constructor(private readonly listing: ModelListingService) {}

  /** Sends the list as text, because its entity tag is computed from the same bytes. */
  @Get()
  @Session('user')
  listDashboardModels(
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): string | undefined {
    const list = JSON.stringify(this.listing.listServed());
    const tag = `"${createHash('sha256').update(list).digest('hex')}"`;
    // The list is public to every user, so browsers may keep it, if they ask whether it has changed.
    reply.header('cache-control', 'private, no-cache');
    if (isFresh(request, reply, tag)) return undefined;
    reply.type('application/json; charset=utf-8');
    return list;
  }
}
