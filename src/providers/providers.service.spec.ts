import { Logger } from '@nestjs/common';
import type { AppConfig } from '../config/app-config';
import type { ProviderEnvironment } from '../config/provider-environment';
import { ProvidersService } from './providers.service';

const service = (providers: ProviderEnvironment) => new ProvidersService({ providers } as AppConfig);

describe('ProvidersService', () => {
  beforeAll(() => Logger.overrideLogger(false));

  it('offers the providers that have their settings, and no others', async () => {
    const providers = service({ MOCK_PROVIDER: 'false', OPENAI_API_KEY: 'key' });
    expect([...providers.configuredIds]).toEqual(['openai']);
    expect(providers.get('openai')?.id).toBe('openai');
    expect(providers.get('openai-compatible')).toBeUndefined();
    expect(providers.get('constructor')).toBeUndefined();
    await providers.onApplicationShutdown();
  });

  it('needs an address but no key for a compatible server, and a key for OpenAI', async () => {
    const providers = service({
      MOCK_PROVIDER: 'false',
      OPENAI_BASE_URL: 'https://eu.api.openai.com/v1',
      OPENAI_COMPATIBLE_BASE_URL: 'http://localhost:8000/v1',
    });
    expect([...providers.configuredIds]).toEqual(['openai-compatible']);
    await providers.onApplicationShutdown();
  });

  it('takes stored settings over while it runs, before those of the environment, and gives them back', async () => {
    const providers = service({ MOCK_PROVIDER: 'false', OPENAI_COMPATIBLE_BASE_URL: 'http://localhost:8000/v1' });
    const { configuredIds } = providers;
    const told: string[][] = [];
    providers.onChange(() => {
      told.push([...configuredIds].toSorted());
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
    expect(told).toEqual([
      ['openai', 'openai-compatible'],
      ['openai', 'openai-compatible'],
      ['openai-compatible'],
      ['openai', 'openai-compatible'],
    ]);
    await providers.onApplicationShutdown();
  });

  it('keeps a provider as it is when what is stored for it is wrong', async () => {
    const providers = service({ MOCK_PROVIDER: 'false', OPENAI_COMPATIBLE_BASE_URL: 'http://localhost:8000/v1' });
    const chat = providers.get('openai-compatible')?.chat;
    await providers.use({ OPENAI_COMPATIBLE_BASE_URL: 'localhost' });
    expect(providers.get('openai-compatible')?.chat).toBe(chat);
    await expect(providers.rehearse('OPENAI_COMPATIBLE_BASE_URL', 'localhost')).rejects.toThrow(
      /OPENAI_COMPATIBLE_BASE_URL/,
    );
    await providers.onApplicationShutdown();
  });

  it('stops the start with the name of a wrong variable', () => {
    expect(() => service({ OPENAI_COMPATIBLE_BASE_URL: 'localhost' })).toThrow(/OPENAI_COMPATIBLE_BASE_URL/);
  });
});
