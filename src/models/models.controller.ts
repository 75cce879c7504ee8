import { Controller, Get, Param, Query, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { requirePrincipal } from '../core/types/request-context';
import { ModelListingService, type ModelListRecord, type ModelRecord } from './model-listing.service';

@Controller('v1/models')
export class ModelsController {
  constructor(private readonly listing: ModelListingService) {}

  @Get()
  listModels(@Query('modality') modality: unknown, @Req() request: FastifyRequest): ModelListRecord {
    return this.listing.list(requirePrincipal(request.context), modality);
  }

  /** Ids contain a slash: the wildcard matches `a/b` and, decoded by the router, `a%2Fb`. */
  @Get('*')
  getModel(@Param('*') id: string, @Req() request: FastifyRequest): ModelRecord {
    return this.listing.require(requirePrincipal(request.context), id);
  }
}
