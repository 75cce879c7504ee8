import { Module } from '@nestjs/common';
import { HealthService } from './health.service';
import { HealthSharing } from './health-sharing';

/**
 * Which deployments may be called, and in which order (README.md): their health, shared by all processes, and the
 * strategies. `inference` makes the plan of a request out of both.
 * Invariant: no request that goes well waits for Redis here.
 */
@Module({ providers: [HealthService, HealthSharing], exports: [HealthService] })
export class RoutingModule {}
