import { Body, Controller, Delete, Get, HttpCode, Param, Post, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { Answer } from '../core/http/answer';
import { requirePrincipal } from '../core/types/request-context';
import { ValidBody } from '../core/validation/valid-body.pipe';
import { Idempotent, Modality, Spends } from '../core/http/route.decorators';
import { MusicRequestDto } from './dto/music-request.dto';
import { orderMusic } from './job-order';
import { JobSubmissionService } from './job-submission.service';
import { JobsService } from './jobs.service';
import { type JobReply, toDeletionAnswer } from './job-replies';

@Controller('v1/music/generations')
export class MusicController {
  constructor(
    private readonly submissions: JobSubmissionService,
    private readonly jobs: JobsService,
  ) {}

  @Post()
  @HttpCode(202)
  @Idempotent({ required: true })
  @Spends()
  @Modality('music')
  createMusic(
    @Body(new ValidBody(MusicRequestDto)) body: MusicRequestDto,
    @Req() { context }: FastifyRequest,
  ): Promise<Answer> {
    return this.submissions.submit(orderMusic(body), context);
  }

  @Get(':id')
  getMusic(@Param('id') id: string, @Req() { context }: FastifyRequest): Promise<JobReply> {
    return this.jobs.get({ id, kind: 'music', principal: requirePrincipal(context) });
  }

  @Delete(':id')
  async deleteMusic(@Param('id') id: string, @Req() { context }: FastifyRequest): Promise<Answer> {
    return toDeletionAnswer(await this.jobs.delete({ id, kind: 'music', principal: requirePrincipal(context) }));
  }
}
