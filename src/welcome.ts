import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { generatePassword, UserAdministrationService } from './dashboard/accounts/user-administration.service';
import { ApiKeyVerifier } from './auth/api-keys/api-key-verifier';
import { LedgerService } from './billing/ledger/ledger.service';
import { SYSTEM } from './core/types/actor';
import { GatewayError } from './core/errors/gateway-error';
import { listeningAddress } from './core/types/listening-address';
import type { AppConfig } from './core/config/app-config';
import { ApiKeyService } from './auth/api-keys/api-key.service';
import { OrganizationService } from './dashboard/organizations/organization.service';

const DEMO_CREDIT_MICRO = 100_000_000n;
const DEMO_EMAIL = 'demo@example.com';

interface Demo {
  readonly key: string;
  readonly password: string;
}

/**
 * Prints the start message. With an embedded database it creates a demo organization once and keeps its key and owner
 * in the data directory, so that a newcomer can paste the first request. Otherwise keys and users come only from the
 * command line and the dashboard.
 */
export async function welcome(app: NestFastifyApplication, config: AppConfig): Promise<string> {
  const base = config.http.publicBaseUrl ?? listeningAddress(app.getHttpServer());
  const head = `\nThe gateway listens on ${base} and describes itself at ${base}/openapi.yaml\n`;
  if (config.databaseUrl !== null) return `${head}\n`;
  const { key, password } = await prepareDemo(app, config.dataDir);
  return `${head}
Demo API key: ${key}
Dashboard: ${base}/dashboard/login#${new URLSearchParams({ email: DEMO_EMAIL, password })}

  curl ${base}/v1/chat/completions \\
    -H 'Authorization: Bearer ${key}' -H 'Content-Type: application/json' \\
    -d '{"model":"mock/chat-1","messages":[{"role":"user","content":"Hello! Who are you?"}]}'

`;
}

async function prepareDemo(app: NestFastifyApplication, dataDir: string): Promise<Demo> {
  const keyFile = join(dataDir, 'demo-key');
  const passwordFile = join(dataDir, 'demo-password');
  let key = readIfThere(keyFile);
  let organizationId = key === null ? null : await findOrganization(app, key);
  if (key === null || organizationId === null) {
    ({ key, organizationId } = await createDemoOrganization(app));
    writeFileSync(keyFile, `${key}\n`, { mode: 0o600 });
  } else {
    const password = readIfThere(passwordFile);
    if (password !== null) return { key, password };
  }
  const password = generatePassword();
  await createDemoOwner(app, organizationId, password);
  writeFileSync(passwordFile, `${password}\n`, { mode: 0o600 });
  return { key, password };
}

async function createDemoOrganization(app: NestFastifyApplication): Promise<{ key: string; organizationId: string }> {
  const { id } = await app.get(OrganizationService, { strict: false }).create({ name: 'Demo' }, SYSTEM);
  await app.get(LedgerService, { strict: false }).topUp(id, DEMO_CREDIT_MICRO, 'demo credit');
  const { key } = await app.get(ApiKeyService, { strict: false }).create(id, { name: 'Demo' }, SYSTEM);
  return { key, organizationId: id };
}

/** Owner of the demo organization and operator: on a local machine the developer is both. */
async function createDemoOwner(app: NestFastifyApplication, organizationId: string, password: string): Promise<void> {
  const users = app.get(UserAdministrationService, { strict: false });
  const membership = { organizationId, role: 'owner' } as const;
  try {
    await users.create({ email: DEMO_EMAIL, name: 'Demo', password, isOperator: true, membership }, SYSTEM);
  } catch (error) {
    // The user exists already: only the password file was missing.
    if (!(error instanceof GatewayError && error.code === 'conflict')) throw error;
    await users.setPassword(DEMO_EMAIL, password, SYSTEM);
  }
}

function readIfThere(file: string): string | null {
  return existsSync(file) ? readFileSync(file, 'utf8').trim() : null;
}

/** The key's organization; `null`: the database was emptied or the key revoked since the file was written. */
async function findOrganization(app: NestFastifyApplication, key: string): Promise<string | null> {
  try {
    return (await app.get(ApiKeyVerifier, { strict: false }).authenticate(`Bearer ${key}`)).principal.organizationId;
  } catch {
    return null;
  }
}
