import { Body, Controller, HttpCode, Param, Post } from '@nestjs/common';
import { GatewayError } from '../core/errors/gateway-error';
import { PublicWithBody } from '../core/http/route.decorators';
import { JobReportAddress } from './job-report-address';
import { JobReports } from './job-reports';

/** Longer ones are not returned. */
const MAX_CHALLENGE_LENGTH = 200;

/**
 * Reports of providers about jobs. A report is a hint: nothing in it is believed, and the answer tells nothing about the
 * job.
 */
@Controller('v1/job-reports')
export class JobReportsController {
  constructor(
    private readonly addresses: JobReportAddress,
    private readonly reports: JobReports,
  ) {}

  @Post(':token')
  @HttpCode(200)
  @PublicWithBody()
  async reportJob(@Param('token') token: string, @Body() body: unknown): Promise<{ readonly challenge?: string }> {
    const submission = this.addresses.read(token);
    if (submission === null) throw new GatewayError('not_found', 'The address does not exist.');
    await this.reports.receive(submission);
    return challengeOf(body);
  }
}

/** MiniMax verifies an address before it accepts a job (https://platform.minimax.io/docs/api-reference/video-generation-v2-create). */
function challengeOf(body: unknown): { readonly challenge?: string } {
  const { challenge } = (body ?? {}) as { readonly challenge?: unknown };
  return typeof challenge === 'string' && challenge.length <= MAX_CHALLENGE_LENGTH ? { challenge } : {};
}
