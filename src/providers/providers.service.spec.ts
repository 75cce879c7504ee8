import { Logger, Module } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import type { AppConfig } from '../core/config/app-config';
import { ConfigModule } from '../core/config/config.module';
import type { ProviderEnvironment } from '../core/config/provider-environment';
import { ModelProvider } from './contract/model-provider.decorator';
import { OpenAiFormatProvider } from './dialects/openai-format.provider';
import { ProvidersModule } from './providers.module';
import { ProvidersService } from './providers.service';

@ModelProvider()
class OutsideProvider extends OpenAiFormatProvider {
  constructor() {
    super({ id: 'outside', apiKeyVariable: 'OUTSIDE_API_KEY', baseUrlVariable: 'OUTSIDE_BASE_URL', quirks: {} });
  }
}

@Module({ providers: [OutsideProvider] })
class OutsideModule {}

@ModelProvider()
class SecondOpenAi extends OpenAiFormatProvider {
  constructor() {
    super({ id: 'openai', apiKeyVariable: 'OPENAI_API_KEY', baseUrlVariable: 'OPENAI_BASE_URL', quirks: {} });
  }
}

@Module({ providers: [SecondOpenAi] })
class SecondOpenAiModule {}

@ModelProvider()
class NotAProvider {}

@Module({ providers: [NotAProvider] })
class NotAProviderModule {}

/** The service of an application that imports these modules besides `ProvidersModule`. */
async function service(providers: ProviderEnvironment, ...modules: (new () => object)[]): Promise<ProvidersService> {
  const config = ConfigModule.forRoot({ providers, providerInstances: [] } as unknown as AppConfig);
  const module = await Test.createTestingModule({ imports: [config, ProvidersModule, ...modules] }).compile();
  Logger.overrideLogger(false);
  await module.init();
  return module.get(ProvidersService);
}

describe('ProvidersService', () => {
  it('offers only the configured providers', async () => {
    const providers = await service({ MOCK_PROVIDER: 'false', OPENAI_API_KEY: 'key' });
    expect([...providers.configuredIds]).toEqual(['openai']);
    expect(providers.get('openai')?.id).toBe('openai');
    expect(providers.get('openai-compatible')).toBeUndefined();
    expect(providers.get('constructor')).toBeUndefined();
    await providers.onApplicationShutdown();
  });

  it('requires a base URL but no key for a compatible server, and a key for OpenAI', async () => {
    const providers = await service({
      MOCK_PROVIDER: 'false',
      OPENAI_BASE_URL: 'https://eu.api.openai.com/v1',
      OPENAI_COMPATIBLE_BASE_URL: 'http://localhost:8000/v1',
    });
    expect([...providers.configuredIds]).toEqual(['openai-compatible']);
    await providers.onApplicationShutdown();
  });

  it('applies stored settings at run time, ahead of the environment, and reverts when they are removed', async () => {
    const providers = await service({ MOCK_PROVIDER: 'false', OPENAI_COMPATIBLE_BASE_URL: 'http://localhost:8000/v1' });
    const { configuredIds } = providers;
    const notified: string[][] = [];
    providers.onChange(() => {
      notified.push([...configuredIds].toSorted());
      return Promise.resolve();
    });
    await providers.use({ credentials: { OPENAI_API_KEY: 'key' }, instances: [] });
    const held = providers.get('openai');
    const before = held?.chat;
    await providers.use({ credentials: { OPENAI_API_KEY: 'another' }, instances: [] });
    expect(providers.get('openai')).toBe(held);
    expect(held?.chat).not.toBe(before);
    expect(providers.sourceOf('OPENAI_API_KEY')).toBe('stored');
    await providers.use({ credentials: { OPENAI_API_KEY: 'another' }, instances: [] });
    await providers.use({ credentials: {}, instances: [] });
    expect(providers.get('openai')).toBeUndefined();
    await providers.use({ credentials: { OPENAI_API_KEY: 'key' }, instances: [] });
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
    const providers = await service({ MOCK_PROVIDER: 'false', OPENAI_COMPATIBLE_BASE_URL: 'http://localhost:8000/v1' });
    const chat = providers.get('openai-compatible')?.chat;
    await providers.use({ credentials: { OPENAI_COMPATIBLE_BASE_URL: 'localhost' }, instances: [] });
    expect(providers.get('openai-compatible')?.chat).toBe(chat);
    await expect(providers.rehearse('OPENAI_COMPATIBLE_BASE_URL', 'localhost')).rejects.toThrow(
      /OPENAI_COMPATIBLE_BASE_URL/,
    );
    await providers.onApplicationShutdown();
  });

  it('fails at start with the name of an invalid variable', async () => {
    await expect(service({ OPENAI_COMPATIBLE_BASE_URL: 'localhost' })).rejects.toThrow(/OPENAI_COMPATIBLE_BASE_URL/);
  });

  it('finds the providers of a module outside this folder, with their storable credentials', async () => {
    const providers = await service({ OUTSIDE_BASE_URL: 'http://localhost:8000/v1' }, OutsideModule);
    expect(providers.get('outside')?.id).toBe('outside');
    expect(providers.describe().map(({ id }) => id)).toContain('outside');
    expect(providers.storableCredentials).toEqual(expect.arrayContaining(['OUTSIDE_API_KEY', 'OPENAI_API_KEY']));
    await providers.onApplicationShutdown();
  });

  it('fails at start when two providers have the same id', async () => {
    await expect(service({}, SecondOpenAiModule)).rejects.toThrow(
      'Two providers have the id "openai": OpenAiProvider and SecondOpenAi.',
    );
  });

  it('fails at start when a marked class is not a provider', async () => {
    await expect(service({}, NotAProviderModule)).rejects.toThrow('NotAProvider is marked @ModelProvider()');
  });
});
