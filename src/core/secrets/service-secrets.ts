import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { AppConfig } from '../config/app-config';
import { createFile, DataDirectoryError } from './private-files';

/** Secrets generated once for an installation without configured ones, stored in `<dataDir>/secrets.json`. */
export interface GeneratedSecrets {
  readonly apiKeyPepper: string;
  readonly postgresPassword: string;
  readonly redisPassword: string;
}

/**
 * Reads the generated secrets, or creates them on the first start. The file belongs to the embedded database: without
 * it the stored keys cannot be verified.
 */
export function loadOrCreateSecrets(dataDir: string): GeneratedSecrets {
  const path = join(dataDir, 'secrets.json');
  const fresh: GeneratedSecrets = {
    apiKeyPepper: randomBytes(32).toString('hex'),
    postgresPassword: randomBytes(16).toString('hex'),
    redisPassword: randomBytes(16).toString('hex'),
  };
  if (createFile(path, `${JSON.stringify(fresh, null, 2)}\n`)) {
    return fresh;
  }
  const { apiKeyPepper, postgresPassword, redisPassword } = parseSecrets(readFileSync(path, 'utf8'));
  if (!apiKeyPepper || !postgresPassword || !redisPassword) {
    throw new DataDirectoryError(
      `${path} lacks a secret. Restore it from a backup, or remove ${dataDir} to start with no data.`,
    );
  }
  return { apiKeyPepper, postgresPassword, redisPassword };
}

function parseSecrets(text: string): Partial<GeneratedSecrets> {
  try {
    return (JSON.parse(text) as Partial<GeneratedSecrets> | null) ?? {};
  } catch {
    return {};
  }
}

/**
 * The secret for digesting API keys: the configured one, else the one generated in this data directory. By default,
 * local object URLs are signed with it too, and the key of report addresses is derived from it.
 */
export function resolveApiKeyPepper({ apiKeyPepper, dataDir }: Pick<AppConfig, 'apiKeyPepper' | 'dataDir'>): string {
  return apiKeyPepper ?? loadOrCreateSecrets(dataDir).apiKeyPepper;
}

/**
 * The keys of `SecretBox`, in hexadecimal: the configured ones, else the one in `<dataDir>/secrets-key`, created on
 * first use. It has a separate file because older installations created their other secrets before it existed.
 */
export function resolveSecretsKeys({
  secretsKeys,
  dataDir,
}: Pick<AppConfig, 'secretsKeys' | 'dataDir'>): readonly string[] {
  if (secretsKeys !== null) return secretsKeys;
  const path = join(dataDir, 'secrets-key');
  createFile(path, `${randomBytes(32).toString('hex')}\n`);
  const key = readFileSync(path, 'utf8').trim();
  if (!/^[0-9a-f]{64}$/.test(key)) {
    throw new DataDirectoryError(`${path} holds no key. Restore it from a backup: without it, encrypted data is lost.`);
  }
  return [key];
}
