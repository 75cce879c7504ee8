import { Module } from '@nestjs/common';
import { ProvidersService } from './providers.service';

/**
 * Upstream model providers behind one contract (`contract/`). Vendors are presets over dialects, dialects are built
 * from the kit; outside this folder only `ProvidersService` and the types of the contract are used.
 * Invariant: where a request goes is decided by the operator's settings alone.
 */
@Module({ providers: [ProvidersService], exports: [ProvidersService] })
export class ProvidersModule {}
