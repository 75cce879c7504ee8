import type { Server } from 'node:http';
import { join } from 'node:path';
import type { Clock } from '../common/clock';
import { listeningAddress } from '../common/listening-address';
import type { AppConfig } from '../config/app-config';
import { loadOrCreateSecrets } from '../embedded/secrets';
import { LocalStorage } from './local-storage';
import type { ObjectStorage } from './object-storage';
import { S3Storage } from './s3-storage';

/** What the settings ask for; `null` for none. Only a bucket makes the SDK load. */
export async function createObjectStorage(
  config: Pick<AppConfig, 'storage' | 'http' | 'dataDir' | 'apiKeyPepper'>,
  clock: Clock,
  server: () => Server,
): Promise<ObjectStorage | null> {
  const { backend, signedUrlTtlSeconds } = config.storage;
  switch (backend.type) {
    case 'none':
      return null;
    case 's3':
      return S3Storage.create({ ...backend, signedUrlTtlSeconds }, clock);
    case 'local':
      return new LocalStorage(
        {
          root: join(config.dataDir, 'objects'),
          secret: backend.signingSecret ?? config.apiKeyPepper ?? loadOrCreateSecrets(config.dataDir).apiKeyPepper,
          signedUrlTtlSeconds,
          baseUrl: () => config.http.publicBaseUrl ?? listeningAddress(server()),
        },
        clock,
      );
  }
}
