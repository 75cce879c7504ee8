import { Logger } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { SecretBox } from '../../core/secrets/secret-box';
import type { ProviderEnvironment } from '../../core/config/provider-environment';
import type { ProvidersService, StoredProviders } from '../../providers/providers.service';
import type { CredentialRepository } from './credential.repository';
import type { ProviderInstanceRepository } from './provider-instance.repository';
import { StoredCredentials } from './stored-credentials';

const box = new SecretBox(['ab'.repeat(32)]);
const row = (name: string, value: string) => ({
  name,
  sealed: box.seal(value, `provider credential ${name}`),
  last4: null,
  updatedAt: new Date(),
});

/** A process without Redis, on a table of credentials that the test controls. */
function stage() {
  const connection = { on: () => connection, connect: () => Promise.resolve(), disconnect: () => undefined };
  const redis = { options: {}, duplicate: () => connection, on: () => redis, off: () => redis };
  const used: ProviderEnvironment[] = [];
  const table = { rows: [row('OPENAI_API_KEY', 'first')], isUnavailable: false };
  const repository = {
    list: () => (table.isUnavailable ? Promise.reject(new Error('unavailable')) : Promise.resolve(table.rows)),
  };
  const providers = {
    use: ({ credentials }: StoredProviders) => {
      used.push(credentials);
      return Promise.resolve();
    },
  };
  const stored = new StoredCredentials(
    repository as unknown as CredentialRepository,
    { list: () => Promise.resolve([]) } as unknown as ProviderInstanceRepository,
    box,
    providers as unknown as ProvidersService,
    redis as unknown as Redis,
  );
  return { stored, used, table, repository };
}

describe('StoredCredentials', () => {
  beforeEach(() => {
    jest.useFakeTimers();
    jest.spyOn(Logger.prototype, 'warn').mockImplementation();
    jest.spyOn(Logger.prototype, 'error').mockImplementation();
  });
  afterEach(() => {
    jest.useRealTimers();
    jest.restoreAllMocks();
  });

  it('applies credentials before serving requests, and notices changes on the next refresh without a message', async () => {
    const { stored, used, table } = stage();
    await stored.onModuleInit();
    expect(used).toEqual([{ OPENAI_API_KEY: 'first' }]);
    table.rows = [row('OPENAI_API_KEY', 'second')];
    await stored.refresh();
    expect(used.at(-1)).toEqual({ OPENAI_API_KEY: 'second' });
    await stored.onApplicationShutdown();
  });

  it('keeps the current values during a database outage and resumes afterwards', async () => {
    const { stored, used, table } = stage();
    table.isUnavailable = true;
    await stored.onModuleInit();
    await stored.refresh();
    expect(used).toEqual([]);
    table.isUnavailable = false;
    await stored.refresh();
    expect(used).toEqual([{ OPENAI_API_KEY: 'first' }]);
    await stored.onApplicationShutdown();
  });

  it('applies the latest result of concurrent refreshes', async () => {
    const { stored, used, table, repository } = stage();
    let release = (): void => undefined;
    const former = table.rows;
    jest.spyOn(repository, 'list').mockImplementationOnce(
      () =>
        new Promise((resolve) => {
          release = () => resolve(former);
        }),
    );
    const first = stored.refresh();
    await jest.advanceTimersByTimeAsync(0);
    table.rows = [row('OPENAI_API_KEY', 'second')];
    const second = stored.refresh();
    await jest.advanceTimersByTimeAsync(0);
    release();
    await Promise.all([first, second]);
    expect(used.at(-1)).toEqual({ OPENAI_API_KEY: 'second' });
  });

  it('logs each undecryptable value once and uses the others', async () => {
    const { stored, used, table } = stage();
    const other = new SecretBox(['cd'.repeat(32)]);
    const sealed = other.seal('x', 'provider credential OPENAI_BASE_URL');
    table.rows.push({ ...row('OPENAI_BASE_URL', 'x'), sealed });
    await stored.refresh();
    await stored.refresh();
    expect(used).toEqual([{ OPENAI_API_KEY: 'first' }, { OPENAI_API_KEY: 'first' }]);
    const error = jest.mocked(Logger.prototype.error);
    expect(error.mock.calls.map(([line]) => line)).toEqual([
      expect.objectContaining({ credential: 'OPENAI_BASE_URL' }),
    ]);
  });
});
