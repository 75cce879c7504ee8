import { loadConfig } from './load-config';

const services = {
  DATABASE_URL: 'postgres://gateway:secret@db/gateway',
  REDIS_URL: 'rediss://:secret@cache:6380/0',
};
const production = {
  ...services,
  NODE_ENV: 'production',
  API_KEY_PEPPER: 'p'.repeat(32),
  SECRETS_KEY: 'ab'.repeat(32),
};

describe('the settings of providers', () => {
  it('passes on variables of built-in and of unknown providers, and no others', () => {
    const { providers } = loadConfig({
      ACME_API_KEY: 'k',
      ACME_BASE_URL: 'https://acme.example',
      ACME_REGION: 'eu',
      FAL_KEY: 'id:secret',
      HOME: '/root',
      PUBLIC_BASE_URL: 'https://ai.example',
      MOCK_PROVIDER: 'false',
      MOCK_MEDIA_PROVIDER: 'false',
      MOCK_MEDIA_DIR: '/mock-media',
    });
    expect(providers).toEqual({
      ACME_API_KEY: 'k',
      ACME_BASE_URL: 'https://acme.example',
      FAL_KEY: 'id:secret',
      MOCK_PROVIDER: 'false',
      MOCK_MEDIA_PROVIDER: 'false',
      MOCK_MEDIA_DIR: '/mock-media',
    });
  });

  it.each([
    ['with the embedded services', {}, 'true'],
    ['with external services', services, 'false'],
    ['in production', production, 'false'],
    ['where it is enabled explicitly', { ...production, MOCK_MEDIA_PROVIDER: 'true' }, 'true'],
  ])('serves mock video and music %s', (_name, environment, expected) => {
    expect(loadConfig(environment).providers.MOCK_MEDIA_PROVIDER).toBe(expected);
  });

  it('keeps the jobs of mock video and music in the data directory', () => {
    expect(loadConfig({ DATA_DIR: '/data' }).providers.MOCK_MEDIA_DIR).toBe('/data/mock-media');
  });
});
