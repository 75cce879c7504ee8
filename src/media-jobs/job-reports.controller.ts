import { Body, Controller, HttpCode, Post, Req, UseGuards } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { KeepsRawBody, PublicWithOptionalBody } from '../core/http/route.decorators';
import { JobReportGuard } from './job-report.guard';
import { JobReports } from './job-reports';

/** Longer challenges are not returned. */
const MAX_CHALLENGE_LENGTH = 200;

/**
 * Reports of providers about jobs. A report is only a hint: nothing in it is trusted, and the response reveals nothing
 * about the job. An unreadable body is therefore accepted, unless the vendor signs its reports.
 */
@Controller('v1/job-reports')
export class JobReportsController {
  constructor(private readonly reports: JobReports) {}

  @Post(':token')
  @HttpCode(200)
  @PublicWithOptionalBody()
  @KeepsRawBody()
  @UseGuards(JobReportGuard)
  async reportJob(
    @Req() { reportedSubmission, headers, rawBody }: FastifyRequest,
    @Body() body: unknown,
  ): Promise<{ readonly challenge?: string }> {
    if (reportedSubmission !== null) {
      await this.reports.receive(reportedSubmission, { headers, body: rawBody ?? Buffer.alloc(0) });
    }
    return challengeOf(body);
  }
}

/**
 * MiniMax verifies an address before it accepts a job
 * (https://platform.minimax.io/docs/api-reference/video-generation-v2-create).
 */
function challengeOf(body: unknown): { readonly challenge?: string } {
  const { challenge } = (body ?? {}) as { readonly challenge?: unknown };
  return typeof challenge === 'string' && challenge.length <= MAX_CHALLENGE_LENGTH ? { challenge } : {};
}
