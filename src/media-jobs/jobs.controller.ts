import { Controller, Get, Param, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { requirePrincipal } from '../core/types/request-context';
import { JobsService } from './jobs.service';
import type { JobReply } from './job-replies';

@Controller('v1/jobs')
export class JobsController {
  constructor(private readonly jobs: JobsService) {}

  @Get(':id')
  getJob(@Param('id') id: string, @Req() { context }: FastifyRequest): Promise<JobReply> {
    return this.jobs.get({ id, kind: null, principal: requirePrincipal(context) });
  }
}
