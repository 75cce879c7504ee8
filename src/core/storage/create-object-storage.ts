import type { Server } from 'node:http';
import { join } from 'node:path';
import type { Clock } from '../time/clock';
import { listeningAddress } from '../types/listening-address';
import type { AppConfig } from '../config/app-config';
import { resolveApiKeyPepper } from '../secrets/service-secrets';
import { LocalStorage } from './local-storage';
import type { ObjectStorage } from './object-storage';
import { S3Storage } from './s3-storage';

/** Creates the configured storage; `null` for none. The SDK is loaded only for a bucket. */
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
          secret: backend.signingSecret ?? resolveApiKeyPepper(config),
          signedUrlTtlSeconds,
          baseUrl: () => config.http.publicBaseUrl ?? listeningAddress(server()),
        },
        clock,
      );
  }
}
