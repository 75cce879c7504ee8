import { Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { ProviderRegistry } from './provider-registry';
import { ProvidersService } from './providers.service';
import { GoogleModule } from './vendors/google/google.module';
import { MockModule } from './vendors/mock/mock.module';
import { OpenAiCompatibleModule } from './vendors/openai-compatible/openai-compatible.module';
import { OpenAiModule } from './vendors/openai/openai.module';

/** One line for each folder under `vendors/`. */
const VENDORS = [MockModule, OpenAiModule, GoogleModule, OpenAiCompatibleModule];

/**
 * The providers, ready to call. Neighbours: vendors and dialects use only the kit and the contract; outside this folder
 * only `ProvidersService` and the contract are used. Invariant: only the operator's settings decide where a request goes.
 */
@Module({
  imports: [DiscoveryModule, ...VENDORS],
  providers: [ProviderRegistry, ProvidersService],
  exports: [ProvidersService],
})
export class ProvidersModule {}
