import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadOrCreateSecrets, resolveSecretsKeys } from '../../../src/core/secrets/service-secrets';

describe('generated secrets', () => {
  let dataDir: string;

  beforeEach(() => {
    dataDir = mkdtempSync(join(tmpdir(), 'gateway-secrets-'));
  });

  afterEach(() => rmSync(dataDir, { recursive: true }));

  it('stay the same from one start to the next', () => {
    expect(loadOrCreateSecrets(dataDir)).toEqual(loadOrCreateSecrets(dataDir));
    expect(readdirSync(dataDir)).toEqual(['secrets.json']);
  });

  it('differ between installations', () => {
    const { apiKeyPepper } = loadOrCreateSecrets(dataDir);
    const { apiKeyPepper: other } = loadOrCreateSecrets(join(dataDir, 'other'));
    expect(apiKeyPepper).toMatch(/^[0-9a-f]{64}$/);
    expect(other).not.toBe(apiKeyPepper);
  });

  it('are not made anew over a file that lost one, which would lock every key out', () => {
    writeFileSync(join(dataDir, 'secrets.json'), '{"apiKeyPepper":"kept"}');
    expect(() => loadOrCreateSecrets(dataDir)).toThrow(join(dataDir, 'secrets.json'));
  });

  it.each(['', '{"apiKeyPepper":', 'null'])('say which file a crash or a slip has left as %j', (content) => {
    const path = join(dataDir, 'secrets.json');
    writeFileSync(path, content);
    expect(() => loadOrCreateSecrets(dataDir)).toThrow(
      `${path} lacks a secret. Restore it from a backup, or remove ${dataDir} to start with no data.`,
    );
  });

  it('include a key for stored secrets where none is configured, which stays the same', () => {
    const made = resolveSecretsKeys({ secretsKeys: null, dataDir });
    expect(made).toEqual([expect.stringMatching(/^[0-9a-f]{64}$/)]);
    expect(resolveSecretsKeys({ secretsKeys: null, dataDir })).toEqual(made);
    expect(resolveSecretsKeys({ secretsKeys: ['configured'], dataDir })).toEqual(['configured']);
    expect(statSync(join(dataDir, 'secrets-key')).mode & 0o777).toBe(0o600);
  });

  it('do not include another key where that one was lost', () => {
    writeFileSync(join(dataDir, 'secrets-key'), '');
    expect(() => resolveSecretsKeys({ secretsKeys: null, dataDir })).toThrow(join(dataDir, 'secrets-key'));
  });
});
