import { Body, Controller, Delete, Get, HttpCode, Param, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { requirePrincipal } from '../core/types/request-context';
import { ValidBody } from '../core/validation/valid-body.pipe';
import { Idempotent } from '../auth/idempotency/idempotent.decorator';
import { Spends } from '../auth/rate-limits/spends.decorator';
import { VideoRequestDto } from './dto/video-request.dto';
import { orderVideo } from './job-order';
import { JobSubmissionService } from './job-submission.service';
import { JobsService } from './jobs.service';
import { sendDeletion } from './send-deletion';
import type { JobReply } from './job-replies';

@Controller('v1/video/generations')
export class VideoController {
  constructor(
    private readonly submissions: JobSubmissionService,
    private readonly jobs: JobsService,
  ) {}

  @Post()
  @HttpCode(202)
  @Idempotent({ required: true })
  @Spends()
  createVideo(
    @Body(new ValidBody(VideoRequestDto)) body: VideoRequestDto,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    return this.submissions.submit(orderVideo(body), request.context, reply);
  }

  @Get(':id')
  getVideo(@Param('id') id: string, @Req() { context }: FastifyRequest): Promise<JobReply> {
    return this.jobs.get({ id, kind: 'video', principal: requirePrincipal(context) });
  }

  @Delete(':id')
  async deleteVideo(
    @Param('id') id: string,
    @Req() { context }: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    sendDeletion(await this.jobs.delete({ id, kind: 'video', principal: requirePrincipal(context) }), reply);
  }
}
