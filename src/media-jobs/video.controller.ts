import { Body, Controller, Delete, Get, HttpCode, Param, Post, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { Answer } from '../core/http/answer';
import { requirePrincipal } from '../core/types/request-context';
import { ValidBody } from '../core/validation/valid-body.pipe';
import { Idempotent, Modality, Spends } from '../core/http/route.decorators';
import { VideoRequestDto } from './dto/video-request.dto';
import { orderVideo } from './job-order';
import { JobSubmissionService } from './job-submission.service';
import { JobsService } from './jobs.service';
import { type JobReply, toDeletionAnswer } from './job-replies';

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
  @Modality('video')
  createVideo(
    @Body(new ValidBody(VideoRequestDto)) body: VideoRequestDto,
    @Req() { context }: FastifyRequest,
  ): Promise<Answer> {
    return this.submissions.submit(orderVideo(body), context);
  }

  @Get(':id')
  getVideo(@Param('id') id: string, @Req() { context }: FastifyRequest): Promise<JobReply> {
    return this.jobs.get({ id, kind: 'video', principal: requirePrincipal(context) });
  }

  @Delete(':id')
  async deleteVideo(@Param('id') id: string, @Req() { context }: FastifyRequest): Promise<Answer> {
    return toDeletionAnswer(await this.jobs.delete({ id, kind: 'video', principal: requirePrincipal(context) }));
  }
}
