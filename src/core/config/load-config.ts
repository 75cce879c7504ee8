/**
 * Reads the environment into the one `AppConfig`. Nothing else in the service touches `process.env`. An invalid
 * environment fails the start with a list of every wrong setting.
 */
import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseEnv } from 'node:util';
import type { AppConfig } from './app-config';
import { readProviderInstances } from './provider-instances';
import { kindOf } from './setting-kinds';
import { type Settings, SETTINGS } from './settings';
import { toAppConfig } from './to-app-config';

export type Environment = Readonly<Record<string, string | undefined>>;

/** The environment is invalid. The message is for the operator and holds no secret. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError';

  constructor(readonly problems: readonly string[]) {
    super(['The configuration is wrong:', ...problems.map((problem) => `  ${problem}`)].join('\n'));
  }
}

/** The process environment over an optional `.env` file in the working directory. */
export function readEnvironment(file = resolve('.env'), processEnvironment: Environment = process.env): Environment {
  const content = existsSync(file) ? readSettingsFile(file) : '';
  return { ...parseEnv(content), ...processEnvironment };
}

function readSettingsFile(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new ConfigurationError([`${file} cannot be read: ${(error as NodeJS.ErrnoException).code ?? 'unknown'}`]);
  }
}

/**
 * Returns the frozen settings of this process. An empty variable counts as not set.
 *
 * @throws ConfigurationError naming every variable that is wrong or missing, and what it accepts
 */
export function loadConfig(environment: Environment = readEnvironment()): AppConfig {
  const given = Object.fromEntries(
    Object.entries(environment).filter((entry): entry is [string, string] => Boolean(entry[1])),
  );
  const invalid = findInvalid(given);
  // Defaults replace invalid values, so that one start also reports contradictions between the valid ones.
  const valid = Object.fromEntries(Object.entries(given).filter(([name]) => !invalid.has(name as SettingName)));
  const settings = SETTINGS.parse(valid);
  const { instances, problems: fileProblems } = readProviderInstances(settings.PROVIDERS_FILE, given);
  const config = toAppConfig(settings, valid, instances);
  const problems = [
    ...fileProblems,
    ...Array.from(invalid, (name) => describeInvalid(name, given[name] ?? '')),
    ...findMissing(config, settings, given),
    ...findContradictions(config, settings),
  ];
  if (problems.length > 0) throw new ConfigurationError(problems);
  return deepFreeze(config);
}

/** Well above 7 days, after which the last job of a day has ended, and above the last replay of a response. */
const MIN_LEDGER_RETENTION_DAYS = 30;

/** The database refuses to delete younger entries. */
const MIN_AUDIT_RETENTION_DAYS = 90;

type SettingName = keyof Settings;

function findInvalid(given: Environment): ReadonlySet<SettingName> {
  const issues = SETTINGS.safeParse(given).error?.issues ?? [];
  return new Set(issues.map(({ path }) => path[0] as SettingName));
}

function describeInvalid(name: SettingName, text: string): string {
  const { accepts, secret = false } = kindOf(SETTINGS.shape[name]);
  const value = secret ? 'has a value that is not shown here' : `is ${JSON.stringify(text)}`;
  return `${name} ${value}, but accepts ${accepts}`;
}

function findMissing({ production, storage, payments }: AppConfig, settings: Settings, given: Environment): string[] {
  const required: [reason: string | false, ...names: SettingName[]][] = [
    [production && 'production', 'DATABASE_URL', 'REDIS_URL', 'API_KEY_PEPPER', 'SECRETS_KEY'],
    // Signed URLs are built from it, and production clients are on other machines.
    [production && storage.backend.type === 'local' && 'STORAGE=local in production', 'PUBLIC_BASE_URL'],
    [storage.backend.type === 's3' && 'STORAGE=s3', 'S3_BUCKET'],
    [storage.backend.type === 's3' && settings.S3_ACCESS_KEY_ID !== null && 'S3_ACCESS_KEY_ID', 'S3_SECRET_ACCESS_KEY'],
    [
      storage.backend.type === 's3' && settings.S3_SECRET_ACCESS_KEY !== null && 'S3_SECRET_ACCESS_KEY',
      'S3_ACCESS_KEY_ID',
    ],
    [settings.SMTP_URL !== null && 'SMTP_URL', 'MAIL_FROM'],
    [settings.STRIPE_SECRET_KEY !== null && 'STRIPE_SECRET_KEY', 'STRIPE_WEBHOOK_SECRET'],
    [settings.DATABASE_DIRECT_URL !== null && 'DATABASE_DIRECT_URL', 'DATABASE_URL'],
    [settings.DATABASE_READ_URL !== null && 'DATABASE_READ_URL', 'DATABASE_URL'],
    [settings.REDIS_MODE === 'sentinel' && 'REDIS_MODE=sentinel', 'REDIS_URL', 'REDIS_NODES'],
    [settings.REDIS_MODE === 'cluster' && 'REDIS_MODE=cluster', 'REDIS_URL'],
    [payments.provider === 'stripe' && 'PAYMENT_PROVIDER=stripe', 'STRIPE_SECRET_KEY'],
  ];
  return required.flatMap(([reason, ...names]) =>
    names
      .filter((name) => reason !== false && given[name] === undefined)
      .map((name) => `${name} is not set, but ${reason} requires it: ${kindOf(SETTINGS.shape[name]).accepts}`),
  );
}

function findContradictions({ production, payments, storage }: AppConfig, settings: Settings): string[] {
  const problems: string[] = [];
  if (settings.LEDGER_RETENTION_DAYS > 0) {
    if (settings.LEDGER_RETENTION_DAYS < MIN_LEDGER_RETENTION_DAYS) {
      problems.push(`LEDGER_RETENTION_DAYS is less than ${MIN_LEDGER_RETENTION_DAYS}, and not 0`);
    }
    if (storage.backend.type === 'none') {
      problems.push(
        'LEDGER_RETENTION_DAYS is set, but there is no object storage for the days that it removes: STORAGE',
      );
    }
  }
  if (settings.AUDIT_RETENTION_DAYS > 0 && settings.AUDIT_RETENTION_DAYS < MIN_AUDIT_RETENTION_DAYS) {
    problems.push(`AUDIT_RETENTION_DAYS is less than ${MIN_AUDIT_RETENTION_DAYS}, and not 0`);
  }
  if (settings.REDIS_MODE === 'cluster' && /^\/[1-9]/.test(URL.parse(settings.REDIS_URL ?? '')?.pathname ?? '')) {
    problems.push('REDIS_URL names a database, but a cluster has only database 0');
  }
  // Otherwise a session cookie can be read in transit or set by a neighbouring host.
  if (production && settings.SESSION_COOKIE_SECURE === false) {
    problems.push('SESSION_COOKIE_SECURE is "false", which production does not allow');
  }
  // Buyers could credit any amount for free.
  if (production && payments.provider === 'test') {
    problems.push('PAYMENT_PROVIDER is "test", which production does not allow');
  }
  if (settings.STRIPE_API_BASE_URL !== null && new URL(settings.STRIPE_API_BASE_URL).pathname !== '/') {
    problems.push('STRIPE_API_BASE_URL has a path, which the library of Stripe cannot keep');
  }
  for (const name of ['MAX_REQUEST_BYTES', 'MAX_MULTIPART_BYTES'] as const) {
    if (settings.MAX_BUFFERED_BYTES >= 2 * settings[name]) continue;
    problems.push(`MAX_BUFFERED_BYTES is less than twice ${name}`);
  }
  return problems;
}

function deepFreeze<Value extends object>(value: Value): Value {
  for (const part of Object.values(value)) {
    if (typeof part === 'object' && part !== null) {
      deepFreeze(part);
    }
  }
  return Object.freeze(value);
}
