import 'reflect-metadata';
import { FASTIFY_ROUTE_CONFIG_METADATA } from '@nestjs/platform-fastify/constants';
import { assertRulesDecided, Modality, type RouteRules, Spends } from './route.decorators';

class Controller {
  @Spends()
  @Modality('image')
  handle(): void {
    return;
  }

  other(): void {
    return;
  }
}

it('merges the rules of all decorators of a method, and shares them with no other method', () => {
  const rulesOf = (name: 'handle' | 'other'): unknown =>
    Reflect.getMetadata(
      FASTIFY_ROUTE_CONFIG_METADATA,
      Object.getOwnPropertyDescriptor(Controller.prototype, name)?.value as object,
    );
  expect(rulesOf('handle')).toEqual({ spends: true, operation: 'handle', modality: 'image' });
  expect(rulesOf('other')).toBeUndefined();
});

describe('assertRulesDecided', () => {
  it.each<[string, RouteRules]>([
    ['/health', { public: true }],
    ['/dashboard/api/me', { session: 'user' }],
    ['/v1/models', {}],
    ['/v1/images/generations', { spends: true, modality: 'image' }],
  ])('accepts %s with %j', (url, rules) => {
    expect(() => assertRulesDecided(url, rules)).not.toThrow();
  });

  it.each<[string, RouteRules, string]>([
    ['/dashboard/api/me', {}, '@Session'],
    ['/dashboard/api/me', { public: true }, '@Session'],
    ['/v1/models', { session: 'user' }, '@Session'],
    ['/dashboard/api/me', { public: true, session: 'user' }, 'not both'],
    ['/v1/images/generations', { spends: true }, '@Modality'],
    ['/v1/images/generations', { modality: 'image' }, '@Modality'],
    ['/v1/objects/*', { public: true, spends: true, modality: 'image' }, 'requires an API key'],
  ])('refuses %s with %j', (url, rules, reason) => {
    expect(() => assertRulesDecided(url, rules)).toThrow(reason);
  });
});
