import { DiscoveryService } from '@nestjs/core';

/**
 * Marks a class that implements `ProviderDefinition`. List it in the `providers` of a module: `ProvidersService` finds
 * it in every module that the application imports, inside this repository or outside.
 */
export const ModelProvider = DiscoveryService.createDecorator();
