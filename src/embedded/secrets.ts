import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { AppConfig } from '../config/app-config';
import { createFile } from './files';

/** What an installation without configured secrets makes up once and keeps in `<dataDir>/secrets.json`. */
export interface GeneratedSecrets {
  readonly apiKeyPepper: string;
  readonly postgresPassword: string;
  readonly redisPassword: string;
}

/**
 * Reads the generated secrets, or makes them on the first start. The file belongs to the embedded database as much as
 * the data does: without it the keys stored there verify no more.
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
  const stored: Partial<GeneratedSecrets> = JSON.parse(readFileSync(path, 'utf8'));
  const { apiKeyPepper, postgresPassword, redisPassword } = stored;
  if (!apiKeyPepper || !postgresPassword || !redisPassword) {
    throw new Error(`${path} lacks a secret. Restore it from a backup, or remove ${dataDir} to start with no data.`);
  }
  return { apiKeyPepper, postgresPassword, redisPassword };
}

/**
 * The keys of `SecretBox`, in hexadecimal: the configured ones, else the one in `<dataDir>/secrets-key`, made when it is
 * first needed. It has a file of its own because installations may have made their other secrets before there was one.
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
    throw new Error(`${path} holds no key. Restore it from a backup: what was encrypted with it is lost without it.`);
  }
  return [key];
}
