import { Logger } from '@nestjs/common';
import type { AppConfig } from '../core/config/app-config';
import type { ProviderEnvironment } from '../core/config/provider-environment';
import { ProvidersService } from './providers.service';

const service = (providers: ProviderEnvironment) => new ProvidersService({ providers } as AppConfig);

describe('ProvidersService', () => {
  beforeAll(() => Logger.overrideLogger(false));

  it('offers only the configured providers', async () => {
    const providers = service({ MOCK_PROVIDER: 'false', OPENAI_API_KEY: 'key' });
    expect([...providers.configuredIds]).toEqual(['openai']);
    expect(providers.get('openai')?.id).toBe('openai');
    expect(providers.get('openai-compatible')).toBeUndefined();
    expect(providers.get('constructor')).toBeUndefined();
    await providers.onApplicationShutdown();
  });

  it('requires a base URL but no key for a compatible server, and a key for OpenAI', async () => {
    const providers = service({
      MOCK_PROVIDER: 'false',
      OPENAI_BASE_URL: 'https://eu.api.openai.com/v1',
      OPENAI_COMPATIBLE_BASE_URL: 'http://localhost:8000/v1',
    });
    expect([...providers.configuredIds]).toEqual(['openai-compatible']);
    await providers.onApplicationShutdown();
  });

  it('applies stored settings at run time, ahead of the environment, and reverts when they are removed', async () => {
    const providers = service({ MOCK_PROVIDER: 'false', OPENAI_COMPATIBLE_BASE_URL: 'http://localhost:8000/v1' });
    const { configuredIds } = providers;
    const notified: string[][] = [];
    providers.onChange(() => {
      notified.push([...configuredIds].toSorted());
      return Promise.resolve();
    });
    await providers.use({ OPENAI_API_KEY: 'key' });
    const held = providers.get('openai');
    const before = held?.chat;
    await providers.use({ OPENAI_API_KEY: 'another' });
    expect(providers.get('openai')).toBe(held);
    expect(held?.chat).not.toBe(before);
    expect(providers.sourceOf('OPENAI_API_KEY')).toBe('stored');
    await providers.use({ OPENAI_API_KEY: 'another' });
    await providers.use({});
    expect(providers.get('openai')).toBeUndefined();
    await providers.use({ OPENAI_API_KEY: 'key' });
    expect(providers.get('openai')).toBe(held);
    expect(notified).toEqual([
      ['openai', 'openai-compatible'],
      ['openai', 'openai-compatible'],
      ['openai-compatible'],
      ['openai', 'openai-compatible'],
    ]);
    await providers.onApplicationShutdown();
  });

  it('keeps the current provider when its stored settings are invalid', async () => {
    const providers = service({ MOCK_PROVIDER: 'false', OPENAI_COMPATIBLE_BASE_URL: 'http://localhost:8000/v1' });
    const chat = providers.get('openai-compatible')?.chat;
    await providers.use({ OPENAI_COMPATIBLE_BASE_URL: 'localhost' });
    expect(providers.get('openai-compatible')?.chat).toBe(chat);
    await expect(providers.rehearse('OPENAI_COMPATIBLE_BASE_URL', 'localhost')).rejects.toThrow(
      /OPENAI_COMPATIBLE_BASE_URL/,
    );
    await providers.onApplicationShutdown();
  });

  it('fails at start with the name of an invalid variable', () => {
    expect(() => service({ OPENAI_COMPATIBLE_BASE_URL: 'localhost' })).toThrow(/OPENAI_COMPATIBLE_BASE_URL/);
  });
});
