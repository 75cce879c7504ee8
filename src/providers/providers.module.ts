import { Module } from '@nestjs/common';
import { ProvidersService } from './providers.service';

/**
 * Upstream model providers behind one contract (`contract/`). Vendors are presets over dialects, dialects are built
 * from the kit; outside this folder only `ProvidersService` and the types of the contract are used. Invariant: only the
 * operator's settings decide where a request goes.
 */
@Module({ providers: [ProvidersService], exports: [ProvidersService] })
export class ProvidersModule {}
