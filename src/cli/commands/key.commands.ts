import type { Command } from 'commander';
import { COMMAND_LINE } from '../../core/types/actor';
import type { Micro } from '../../core/types/micro';
import type { ApiKeyEntity } from '../../core/database/entities/api-key.entity';
import { toApiKeyRecord } from '../../auth/api-keys/api-key-record';
import { isPepperOfKeys } from '../../auth/api-keys/pepper-check';
import { resolveApiKeyPepper } from '../../core/secrets/service-secrets';
import { CliError, withContext, type CliContext } from '../cli-context';
import { formatFields, formatMicro, formatTable, run, type CommandResult } from '../command-result';
import {
  parseAmount,
  parseAmountOrNone,
  parseId,
  parseInteger,
  parseList,
  parseListOrNone,
  parseText,
  parseTime,
  parseTimeOrNone,
} from '../option-parsers';
import { addRateChanges, noneToNull, rateFields, toRateLimits, type RateOptions } from '../rate-options';

const SHOWN_ONCE = 'The key is shown only once. Store it in a safe place.';

interface KeyOptions {
  readonly key: string;
}

export function addKeyCommands(program: Command): void {
  const key = program.command('key').description('create, rotate and revoke API keys');

  key
    .command('create')
    .description('create a key; omitted limits and restrictions do not apply')
    .requiredOption('--org <id>', 'organization id', parseId)
    .option('--name <text>', 'display name', parseText)
    .option('--expires-at <time>', 'for example 2030-01-31T12:00:00Z', parseTime)
    .option('--allowed-ips <list>', 'comma-separated IP addresses and CIDR ranges', parseList)
    .option('--allowed-models <list>', 'comma-separated vendor/name or vendor/*', parseList)
    .option('--allowed-modalities <list>', 'for example text,audio', parseList)
    .option('--rps <count>', 'requests per second', parseInteger)
    .option('--rpm <count>', 'requests per minute', parseInteger)
    .option('--tpm <count>', 'tokens per minute', parseInteger)
    .option('--concurrency <count>', 'requests in flight', parseInteger)
    .option('--daily-budget-micro <amount>', 'maximum spending per day (UTC)', parseAmount)
    .option('--monthly-budget-micro <amount>', 'maximum spending per calendar month (UTC)', parseAmount)
    .action(run(createKey));
  key
    .command('list')
    .description('list the keys of an organization, including revoked ones')
    .requiredOption('--org <id>', 'organization id', parseId)
    .action(run(listKeys));

  const limit = keyCommand(key, 'limit', 'set limits and budgets; omitted ones are unchanged');
  addRateChanges(limit)
    .option('--daily-budget-micro <amount>', 'maximum spending per day (UTC), or "none"', parseAmountOrNone)
    .option(
      '--monthly-budget-micro <amount>',
      'maximum spending per calendar month (UTC), or "none"',
      parseAmountOrNone,
    )
    .action(run(limitKey));
  keyCommand(key, 'restrict', 'set name, expiry and restrictions; omitted ones are unchanged')
    .option('--name <text>', 'display name', parseText)
    .option('--expires-at <time>', 'for example 2030-01-31T12:00:00Z, or "none"', parseTimeOrNone)
    .option('--allowed-ips <list>', 'comma-separated IP addresses and CIDR ranges, or "none"', parseListOrNone)
    .option('--allowed-models <list>', 'comma-separated vendor/name or vendor/*, or "none"', parseListOrNone)
    .option('--allowed-modalities <list>', 'for example text,audio, or "none"', parseListOrNone)
    .action(run(restrictKey));
  keyCommand(key, 'disable', 'refuse requests with the key until it is enabled').action(
    run((options: KeyOptions) => changeKey(({ keys }) => keys.disable(options.key, null, COMMAND_LINE))),
  );
  keyCommand(key, 'enable', 'accept requests with a disabled key again').action(
    run((options: KeyOptions) => changeKey(({ keys }) => keys.enable(options.key, null, COMMAND_LINE))),
  );
  keyCommand(key, 'revoke', 'revoke the key permanently, at once').action(
    run((options: KeyOptions) => changeKey(({ keys }) => keys.revoke(options.key, null, COMMAND_LINE))),
  );
  keyCommand(key, 'rotate', 'replace the key by a new one with the same settings')
    .option('--grace-seconds <seconds>', 'how long the old key stays valid', parseInteger, 0)
    .action(run(rotateKey));
}

function keyCommand(parent: Command, name: string, description: string): Command {
  return parent.command(name).description(description).requiredOption('--key <id>', 'key id', parseId);
}

interface CreateKeyOptions {
  readonly org: string;
  readonly name?: string;
  readonly expiresAt?: Date;
  readonly allowedIps?: string[];
  readonly allowedModels?: string[];
  readonly allowedModalities?: string[];
  readonly rps?: number;
  readonly rpm?: number;
  readonly tpm?: number;
  readonly concurrency?: number;
  readonly dailyBudgetMicro?: Micro;
  readonly monthlyBudgetMicro?: Micro;
}

function createKey({ org, rps, rpm, tpm, ...settings }: CreateKeyOptions): Promise<CommandResult> {
  return withContext(async (context) => {
    await assertPepper(context);
    const { keys, clock } = context;
    const rates = { requestsPerSecond: rps, requestsPerMinute: rpm, tokensPerMinute: tpm };
    const { key, apiKey } = await keys.create(org, { ...settings, ...rates }, COMMAND_LINE);
    return {
      text: `${formatFields([
        ['Id', apiKey.id],
        ['API key', key],
      ])}\n${SHOWN_ONCE}`,
      json: { ...toApiKeyRecord(apiKey, clock.now()), key },
    };
  });
}

/** @throws CliError when gateways would refuse a key that is created here */
async function assertPepper({ dataSource, config }: CliContext): Promise<void> {
  if (await isPepperOfKeys(dataSource, resolveApiKeyPepper(config))) return;
  throw new CliError(
    'API_KEY_PEPPER is not the one of the gateways, which would refuse the new key. Set theirs, or run "gateway deployment accept-pepper".',
  );
}

function listKeys({ org }: { readonly org: string }): Promise<CommandResult> {
  return withContext(async ({ keys, organizations, clock }) => {
    const { maxApiKeys } = await organizations.require(org);
    const all = await keys.list(org);
    const records = all.map((apiKey) => toApiKeyRecord(apiKey, clock.now()));
    const counted = all.filter(({ revokedAt, playgroundUserId }) => revokedAt === null && playgroundUserId === null);
    const table = formatTable(
      ['ID', 'KEY', 'STATUS', 'CREATED', 'NAME'],
      records.map(({ id, prefix, last4, status, created_at, name }) => [
        id,
        `${prefix}...${last4}`,
        status,
        created_at,
        name,
      ]),
      'The organization has no keys.',
    );
    return {
      text: `${table}\n\n${counted.length} of at most ${maxApiKeys} keys; replaced, revoked and playground keys do not count`,
      json: { keys: records, max_api_keys: maxApiKeys },
    };
  });
}

interface LimitOptions extends KeyOptions, RateOptions<number | 'none'> {
  readonly dailyBudgetMicro?: Micro | 'none';
  readonly monthlyBudgetMicro?: Micro | 'none';
}

function limitKey({ key, dailyBudgetMicro, monthlyBudgetMicro, ...rates }: LimitOptions): Promise<CommandResult> {
  return withContext(async ({ keys, clock }) => {
    const changes = {
      ...toRateLimits(rates),
      ...(dailyBudgetMicro !== undefined && { dailyBudgetMicro: noneToNull(dailyBudgetMicro) }),
      ...(monthlyBudgetMicro !== undefined && { monthlyBudgetMicro: noneToNull(monthlyBudgetMicro) }),
    };
    const apiKey = await keys.update(key, null, changes, COMMAND_LINE);
    return {
      text: formatFields([
        ['API key', `${apiKey.prefix}...${apiKey.last4} (${apiKey.id})`],
        ...rateFields(apiKey),
        ['Daily budget', formatBudget(apiKey.dailyBudgetMicro)],
        ['Monthly budget', formatBudget(apiKey.monthlyBudgetMicro)],
      ]),
      json: toApiKeyRecord(apiKey, clock.now()),
    };
  });
}

interface RestrictOptions extends KeyOptions {
  readonly name?: string;
  readonly expiresAt?: Date | 'none';
  readonly allowedIps?: string[] | 'none';
  readonly allowedModels?: string[] | 'none';
  readonly allowedModalities?: string[] | 'none';
}

function restrictKey({ key, name, expiresAt, ...lists }: RestrictOptions): Promise<CommandResult> {
  return withContext(async ({ keys, clock }) => {
    const changes = {
      name,
      expiresAt: expiresAt && noneToNull(expiresAt),
      allowedIps: lists.allowedIps && noneToNull(lists.allowedIps),
      allowedModels: lists.allowedModels && noneToNull(lists.allowedModels),
      allowedModalities: lists.allowedModalities && noneToNull(lists.allowedModalities),
    };
    const apiKey = await keys.update(key, null, changes, COMMAND_LINE);
    const text = formatFields([
      ['API key', `${apiKey.prefix}...${apiKey.last4} (${apiKey.id})`],
      ['Name', apiKey.name],
      ['Expires', apiKey.expiresAt?.toISOString() ?? 'never'],
      ['IP addresses', formatList(apiKey.allowedIps)],
      ['Models', formatList(apiKey.allowedModels)],
      ['Modalities', formatList(apiKey.allowedModalities)],
    ]);
    return { text, json: toApiKeyRecord(apiKey, clock.now()) };
  });
}

function formatList(entries: readonly string[] | null): string {
  return entries === null ? 'all' : entries.join(', ');
}

function formatBudget(amount: Micro | null): string {
  return amount === null ? 'none' : formatMicro(amount);
}

interface RotateOptions extends KeyOptions {
  readonly graceSeconds: number;
}

function rotateKey({ key: keyId, graceSeconds }: RotateOptions): Promise<CommandResult> {
  return withContext(async (context) => {
    await assertPepper(context);
    const { keys, clock } = context;
    const { key, apiKey, replaced } = await keys.rotate(keyId, null, graceSeconds, COMMAND_LINE);
    return {
      text: `${formatFields([
        ['Id', apiKey.id],
        ['API key', key],
        ['Old key valid until', graceSeconds === 0 ? 'now' : (replaced.revokedAt?.toISOString() ?? 'now')],
      ])}\n${SHOWN_ONCE}`,
      json: { ...toApiKeyRecord(apiKey, clock.now()), key, replaced: toApiKeyRecord(replaced, clock.now()) },
    };
  });
}

function changeKey(change: (context: CliContext) => Promise<ApiKeyEntity>): Promise<CommandResult> {
  return withContext(async (context) => {
    const record = toApiKeyRecord(await change(context), context.clock.now());
    return { text: `API key ${record.id} is ${record.status}.`, json: record };
  });
}
