import type { AppConfig } from '../config/app-config';
import type { ProviderEnvironment } from '../config/provider-environment';
import { ProvidersService } from './providers.service';

const service = (providers: ProviderEnvironment) => new ProvidersService({ providers } as AppConfig);

describe('ProvidersService', () => {
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

  it('stops the start with the name of a wrong variable', () => {
    expect(() => service({ OPENAI_COMPATIBLE_BASE_URL: 'localhost' })).toThrow(/OPENAI_COMPATIBLE_BASE_URL/);
  });
});
