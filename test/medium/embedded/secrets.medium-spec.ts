import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadOrCreateSecrets } from '../../../src/embedded/secrets';

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
});
