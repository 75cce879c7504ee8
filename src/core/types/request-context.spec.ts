import type { Modality } from './modality';
import { assertModelAllowed, isModelAllowed, type Principal } from './request-context';

function makePrincipal(models: string[] | null, modalities: Modality[] | null): Principal {
  return {
    organizationId: 'organization',
    keyId: 'key',
    allowedModels: models && new Set(models),
    allowedModalities: modalities && new Set(modalities),
    limits: { requestsPerSecond: null, requestsPerMinute: null, tokensPerMinute: null, concurrency: null },
    organizationLimits: { requestsPerSecond: null, requestsPerMinute: null, tokensPerMinute: null, concurrency: null },
  };
}

const model = { id: 'mock/chat-1', modality: 'text' } as const;

describe('assertModelAllowed', () => {
  it.each([
    ['a key without rules', null, null],
    ['a key that names the model', ['mock/chat-1'], null],
    ['a key that names the vendor', ['mock/*'], null],
    ['a key that names the modality', null, ['text'] as Modality[]],
  ])('allows %s', (_name, models, modalities) => {
    const principal = makePrincipal(models, modalities);
    expect(isModelAllowed(principal, model)).toBe(true);
    expect(() => assertModelAllowed(principal, model)).not.toThrow();
  });

  it.each([
    ['another model', ['mock/chat-2'], null, 'model_not_allowed'],
    ['a vendor with a common prefix', ['mo/*', 'mock-2/*'], null, 'model_not_allowed'],
    ['a lone asterisk', ['*'], null, 'model_not_allowed'],
    ['an empty list', [], null, 'model_not_allowed'],
    ['another modality', null, ['image'] as Modality[], 'modality_not_allowed'],
    ['both wrong', ['mock/chat-2'], ['image'] as Modality[], 'model_not_allowed'],
  ])('refuses %s', (_name, models, modalities, code) => {
    const principal = makePrincipal(models, modalities);
    expect(isModelAllowed(principal, model)).toBe(false);
    expect(() => assertModelAllowed(principal, model)).toThrow(expect.objectContaining({ code, param: 'model' }));
  });
});
