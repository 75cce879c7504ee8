import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { ApiKeyVerifier } from './auth/api-key-verifier';
import { LedgerService } from './billing/ledger.service';
import { listeningAddress } from './common/listening-address';
import type { AppConfig } from './config/app-config';
import { ApiKeyService } from './organizations/api-key.service';
import { OrganizationService } from './organizations/organization.service';

const DEMO_CREDIT_MICRO = 100_000_000n;

/**
 * What a start prints. Beside an embedded database there is a demo organization, made once, whose key is kept in the
 * data directory, so that a newcomer can paste the first request. Elsewhere keys come from the command line only.
 */
export async function welcome(app: NestFastifyApplication, config: AppConfig): Promise<string> {
  const base = config.http.publicBaseUrl ?? listeningAddress(app.getHttpServer());
  const head = `\nThe gateway listens on ${base} and describes itself at ${base}/openapi.yaml\n`;
  if (config.databaseUrl !== null) return `${head}\n`;
  const key = await demoKey(app, config.dataDir);
  return `${head}
Demo API key: ${key}

  curl ${base}/v1/chat/completions \\
    -H 'Authorization: Bearer ${key}' -H 'Content-Type: application/json' \\
    -d '{"model":"mock/chat-1","messages":[{"role":"user","content":"Hello! Who are you?"}]}'

`;
}

async function demoKey(app: NestFastifyApplication, dataDir: string): Promise<string> {
  const file = join(dataDir, 'demo-key');
  if (existsSync(file)) {
    const key = readFileSync(file, 'utf8').trim();
    if (await isUsable(app, key)) return key;
  }
  const { id } = await app.get(OrganizationService, { strict: false }).create({ name: 'Demo' });
  await app.get(LedgerService, { strict: false }).topUp(id, DEMO_CREDIT_MICRO, 'demo credit');
  const { key } = await app.get(ApiKeyService, { strict: false }).create(id, { name: 'Demo' });
  writeFileSync(file, `${key}\n`, { mode: 0o600 });
  return key;
}

/** The database may have been emptied, or the key revoked, since the file was written. */
async function isUsable(app: NestFastifyApplication, key: string): Promise<boolean> {
  try {
    await app.get(ApiKeyVerifier, { strict: false }).verify(`Bearer ${key}`, '127.0.0.1');
    return true;
  } catch {
    return false;
  }
}
