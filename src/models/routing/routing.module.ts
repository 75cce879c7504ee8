import { Module } from '@nestjs/common';
import { SchedulingModule } from '../../core/scheduling/scheduling.module';
import { ModelsModule } from '../models.module';
import { ProvidersModule } from '../../providers/providers.module';
import { HealthService } from './health.service';
import { HealthSharing } from './health-sharing';
import { ProviderRenewal } from './provider-renewal';

/**
 * Which deployments may be called, and in which order (README.md): their health, shared by all processes, and the
 * strategies. `inference` plans requests with both.
 * Invariant: successful requests never wait for Redis here.
 */
@Module({
  imports: [SchedulingModule, ModelsModule, ProvidersModule],
  providers: [HealthService, HealthSharing, ProviderRenewal],
  exports: [HealthService],
})
export class RoutingModule {}
