import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { ConfigurationError } from '../../../src/core/config/load-config';
import { attachEmbeddedServices } from '../../../src/core/embedded/embedded-services';
import { ServicesFile } from '../../../src/core/embedded/services-file';

describe('a command beside a running gateway', () => {
  it('is refused as a wrong setting when it lacks the DATABASE_URL of that gateway', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'attach-'));
    const file = await ServicesFile.claim(dataDir, false);
    try {
      file.update({ ready: true, databaseUrl: null, redisUrl: 'redis://127.0.0.1' });
      const settings = { dataDir, databaseUrl: null, redisUrl: null };
      const refusal = await attachEmbeddedServices(settings, pino({ enabled: false })).catch((error: unknown) => error);
      expect(refusal).toBeInstanceOf(ConfigurationError);
      expect((refusal as Error).message).toContain('uses a different DATABASE_URL; set the same one here.');
    } finally {
      file.release();
      rmSync(dataDir, { recursive: true });
    }
  });
});
