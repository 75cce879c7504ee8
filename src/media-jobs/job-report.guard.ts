import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { GatewayError } from '../core/errors/gateway-error';
import { requestOf } from '../core/http/request';
import { JobReportAddress, type ReportedSubmission } from './job-report-address';

declare module 'fastify' {
  interface FastifyRequest {
    /** Set on the route for reports. */
    reportedSubmission: ReportedSubmission | null;
  }
}

/** Verifies the signed address of a report, before the body is read. */
@Injectable()
export class JobReportGuard implements CanActivate {
  constructor(private readonly addresses: JobReportAddress) {}

  canActivate(context: ExecutionContext): boolean {
    const request = requestOf(context);
    const { token } = request.params as { readonly token: string };
    request.reportedSubmission = this.addresses.read(token);
    if (request.reportedSubmission === null) throw new GatewayError('not_found', 'The address does not exist.');
    return true;
  }
}
