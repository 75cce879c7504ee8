import { type CanActivate, type ExecutionContext, Inject, Injectable } from '@nestjs/common';
import { type AttemptLog, networkOf } from '../auth/rate-limits/attempt-log';
import { AttemptThrottle } from '../auth/rate-limits/attempt-throttle';
import { APP_CONFIG, type AppConfig } from '../core/config/app-config';
import { GatewayError } from '../core/errors/gateway-error';
import { requestOf } from '../core/http/request';
import { JobReportAddress, type ReportedSubmission } from './job-report-address';

declare module 'fastify' {
  interface FastifyRequest {
    /** Set on the route for reports. */
    reportedSubmission: ReportedSubmission | null;
  }
}

const WINDOW_MS = 15 * 60_000;

/**
 * Verifies the signed address of a report before the body is read. Limits forged addresses per network, like failed
 * logins. Valid ones always pass, since all reports of a vendor come from few networks.
 */
@Injectable()
export class JobReportGuard implements CanActivate {
  private readonly attemptsPerAddress: number;

  constructor(
    private readonly addresses: JobReportAddress,
    private readonly throttle: AttemptThrottle,
    @Inject(APP_CONFIG) { dashboard }: Pick<AppConfig, 'dashboard'>,
  ) {
    this.attemptsPerAddress = dashboard.attemptsPerAddress;
  }

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const request = requestOf(context);
    const { token } = request.params as { readonly token: string };
    request.reportedSubmission = this.addresses.read(token);
    return request.reportedSubmission === null ? this.refuse(request.context.clientAddress) : true;
  }

  /** @throws GatewayError `not_found`; `rate_limited` after too many forged addresses. */
  private async refuse(clientAddress: string): Promise<never> {
    const key = `attempts:report:address:${networkOf(clientAddress)}`;
    const log: AttemptLog = { key, limit: this.attemptsPerAddress, windowMs: WINDOW_MS };
    await this.throttle.take([log]);
    throw new GatewayError('not_found', 'The address does not exist.');
  }
}
