import { Injectable } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import { ModelProvider } from './contract/model-provider.decorator';
import type { ProviderDefinition } from './contract/provider';

/** Collects every class that is marked `@ModelProvider()`, from all modules of the application. */
@Injectable()
export class ProviderRegistry {
  constructor(private readonly discovery: DiscoveryService) {}

  /**
   * Sorted by id. Complete once all modules are instantiated.
   * @throws Error when two providers have the same id, or a class is not a provider
   */
  collect(): readonly ProviderDefinition[] {
    const byId = new Map<string, ProviderDefinition>();
    for (const { instance, name } of this.discovery.getProviders({ metadataKey: ModelProvider.KEY })) {
      const definition = assertDefinition(instance, String(name));
      const other = byId.get(definition.id);
      if (other !== undefined) {
        const classes = [other, definition].map((each) => each.constructor.name).join(' and ');
        throw new Error(`Two providers have the id "${definition.id}": ${classes}. Provider ids must be unique.`);
      }
      byId.set(definition.id, definition);
    }
    return [...byId.values()].toSorted((one, next) => (one.id < next.id ? -1 : 1));
  }
}

function assertDefinition(instance: unknown, className: string): ProviderDefinition {
  const { id, credentials, create } = (instance ?? {}) as Partial<ProviderDefinition>;
  if (typeof id === 'string' && id !== '' && Array.isArray(credentials) && typeof create === 'function') {
    return instance as ProviderDefinition;
  }
  throw new Error(`${className} is marked @ModelProvider() but does not implement ProviderDefinition.`);
}
