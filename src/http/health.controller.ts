import { Controller, Get, Inject, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { CLOCK, type Clock } from '../core/time/clock';
import { Public } from '../core/http/route.decorators';
import { ReadinessService } from './readiness.service';
import { SERVICE_VERSION } from '../core/types/service-version';

/** The two probes. `/health` checks no dependency, only that the process answers. */
@Controller()
export class HealthController {
  private readonly startedAtMs: number;

  constructor(
    @Inject(CLOCK) private readonly clock: Clock,
    private readonly readiness: ReadinessService,
  ) {
    this.startedAtMs = clock.monotonic();
  }

  @Get('health')
  @Public()
  getHealth(): { status: 'ok'; version: string; uptime_seconds: number } {
    const uptimeMs = this.clock.monotonic() - this.startedAtMs;
    return { status: 'ok', version: SERVICE_VERSION, uptime_seconds: Math.floor(uptimeMs / 1000) };
  }

  @Get('ready')
  @Public()
  async getReadiness(@Res() reply: FastifyReply): Promise<void> {
    const report = await this.readiness.check();
    await reply.code(report.status === 'ready' ? 200 : 503).send(report);
  }
}
