import type { Command } from 'commander';
import { BalanceAdjustmentService } from '../../billing/ledger/ledger.service';
import { COMMAND_LINE } from '../../core/types/actor';
import { microToJson, type Micro } from '../../core/types/micro';
import { SecretBox } from '../../core/secrets/secret-box';
import type { OrganizationEntity } from '../../core/database/entities/organization.entity';
import { resolveSecretsKeys } from '../../core/secrets/service-secrets';
import { OperatorOrganizationService } from '../../dashboard/organizations/operator-organization.service';
import { WebhookSecretRepository } from '../../webhooks/webhook-secret.repository';
import { WebhookSecretService } from '../../webhooks/webhook-secret.service';
import { withContext, type CliContext } from '../cli-context';
import { formatFields, formatMicro, formatTable, run, type CommandResult } from '../command-result';
import {
  parseAmount,
  parseAmountOrNone,
  parseId,
  parseInteger,
  parseIntegerOrNone,
  parsePositiveAmount,
  parseReference,
  parseText,
} from '../option-parsers';
import { addRateChanges, noneToNull, rateFields, toRateLimits, type RateOptions } from '../rate-options';

interface OrganizationOptions {
  readonly org: string;
}

export function addOrganizationCommands(program: Command): void {
  const organization = program.command('org').description('create, credit and suspend organizations');

  organization
    .command('create')
    .description('create an organization with an empty account')
    .requiredOption('--name <text>', 'display name', parseText)
    .option('--monthly-limit-micro <amount>', 'maximum spending per calendar month (UTC)', parseAmount)
    .option('--rps <count>', 'requests per second, over all keys', parseInteger)
    .option('--rpm <count>', 'requests per minute', parseInteger)
    .option('--tpm <count>', 'tokens per minute', parseInteger)
    .option('--concurrency <count>', 'requests in flight', parseInteger)
    .action(run(createOrganization));
  organization.command('list').description('list all organizations').action(run(listOrganizations));

  organizationCommand(organization, 'show', 'show balance, holds, spending and limits').action(run(showOrganization));
  organizationCommand(organization, 'credit', 'add credit; a repeated reference has no effect')
    .requiredOption('--amount-micro <amount>', 'in micro-units: 1 USD is 1000000', parsePositiveAmount)
    .requiredOption('--ref <text>', 'payment reference, unique per organization', parseReference)
    .action(run(creditOrganization));
  const limit = organizationCommand(
    organization,
    'limit',
    'set limits over all keys; omitted limits are unchanged',
  ).option(
    '--monthly-limit-micro <amount>',
    'maximum spending per calendar month (UTC), or "none"; a lower limit set by the organization still applies',
    parseAmountOrNone,
  );
  limit.option(
    '--max-api-keys <count>',
    'API keys that are not revoked, or "none" for the default; keys beyond a lower limit stay valid',
    parseIntegerOrNone,
  );
  addRateChanges(limit).action(run(limitOrganization));
  organizationCommand(organization, 'webhook-secret', 'show the webhook signing secret; creates one if there is none')
    .option('--rotate', 'replace the secret; the old one is no longer used for signing')
    .action(run(showWebhookSecret));
  statusCommand(
    organization,
    'suspend',
    'refuse all requests of the organization',
    ({ organizations }, { org, reason = null }) => organizations.suspend(org, reason, COMMAND_LINE),
  );
  statusCommand(
    organization,
    'activate',
    'accept requests of the organization again',
    ({ organizations }, { org, reason = null }) => organizations.activate(org, reason, COMMAND_LINE),
  );
}

function organizationCommand(parent: Command, name: string, description: string): Command {
  return parent.command(name).description(description).requiredOption('--org <id>', 'organization id', parseId);
}

interface StatusOptions extends OrganizationOptions {
  readonly reason?: string;
}

function statusCommand(
  parent: Command,
  name: string,
  description: string,
  change: (context: CliContext, options: StatusOptions) => Promise<OrganizationEntity>,
): void {
  organizationCommand(parent, name, description)
    .option('--reason <text>', 'reason for the audit log', parseText)
    .action(run((options: StatusOptions) => changeStatus(options, (context) => change(context, options))));
}

interface CreateOptions extends RateOptions<number> {
  readonly name: string;
  readonly monthlyLimitMicro?: Micro;
}

function createOrganization({ name, monthlyLimitMicro, ...rates }: CreateOptions): Promise<CommandResult> {
  return withContext(async ({ organizations }) => {
    const limits = toRateLimits(rates);
    const organization = await organizations.create({ name, monthlyLimitMicro, limits }, COMMAND_LINE);
    return { text: `Organization ${organization.id} created.`, json: toRecord(organization) };
  });
}

function listOrganizations(): Promise<CommandResult> {
  return withContext(async ({ organizations }) => {
    const all = await organizations.list();
    return {
      text: formatTable(
        ['ID', 'STATUS', 'CREATED', 'NAME'],
        all.map(({ id, status, createdAt, name }) => [id, status, createdAt.toISOString(), name]),
        'No organizations.',
      ),
      json: { organizations: all.map(toRecord) },
    };
  });
}

function showOrganization({ org }: OrganizationOptions): Promise<CommandResult> {
  return withContext((context) => describe(context, org));
}

interface CreditOptions extends OrganizationOptions {
  readonly amountMicro: Micro;
  readonly ref: string;
}

function creditOrganization({ org, amountMicro, ref }: CreditOptions): Promise<CommandResult> {
  return withContext(async ({ dataSource }) => {
    const credit = { amountMicro, reference: ref };
    const { applied, balanceMicro } = await new BalanceAdjustmentService(dataSource).credit(org, credit, COMMAND_LINE);
    const summary = applied ? `Credited ${formatMicro(amountMicro)}.` : `No change: ${ref} was already credited.`;
    return {
      text: `${summary} Balance: ${formatMicro(balanceMicro)}.`,
      json: { organization_id: org, applied, balance_micro: microToJson(balanceMicro) },
    };
  });
}

interface LimitOptions extends OrganizationOptions, RateOptions<number | 'none'> {
  readonly maxApiKeys?: number | 'none';
  readonly monthlyLimitMicro?: Micro | 'none';
}

function limitOrganization({ org, maxApiKeys, monthlyLimitMicro, ...rates }: LimitOptions): Promise<CommandResult> {
  return withContext(async (context) => {
    if (maxApiKeys !== undefined) {
      const operators = new OperatorOrganizationService(context.dataSource, context.redis);
      await operators.updateLimits(org, { maxApiKeys: noneToNull(maxApiKeys) }, COMMAND_LINE);
    }
    await context.organizations.setRateLimits(org, toRateLimits(rates), COMMAND_LINE);
    if (monthlyLimitMicro !== undefined) {
      await context.organizations.setMonthlyLimit(org, noneToNull(monthlyLimitMicro), COMMAND_LINE);
    }
    return describe(context, org);
  });
}

interface WebhookSecretOptions extends OrganizationOptions {
  readonly rotate?: boolean;
}

function showWebhookSecret({ org, rotate = false }: WebhookSecretOptions): Promise<CommandResult> {
  return withContext(async ({ config, dataSource, organizations }) => {
    await organizations.require(org);
    const box = new SecretBox(resolveSecretsKeys(config));
    const secrets = new WebhookSecretService(new WebhookSecretRepository(dataSource), box);
    const secret = rotate ? (await secrets.rotate(org, COMMAND_LINE)).secret : await secrets.require(org);
    return { text: secret, json: { organization_id: org, webhook_secret: secret } };
  });
}

function changeStatus(
  { org }: OrganizationOptions,
  change: (context: CliContext) => Promise<OrganizationEntity>,
): Promise<CommandResult> {
  return withContext(async (context) => {
    const organization = await change(context);
    return { text: `Organization ${org} is ${organization.status}.`, json: toRecord(organization) };
  });
}

async function describe({ organizations, ledger }: CliContext, organizationId: string): Promise<CommandResult> {
  const organization = await organizations.require(organizationId);
  const { balanceMicro, reservedMicro, operatorMonthlyLimitMicro, ownMonthlyLimitMicro } =
    await ledger.balance(organizationId);
  const spentMicro = await organizations.findMonthSpending(organizationId);
  return {
    text: formatFields([
      ['Organization', `${organization.name} (${organization.id})`],
      ['Status', organization.status],
      ['Balance', formatMicro(balanceMicro)],
      ['Held', formatMicro(reservedMicro)],
      ['Available', formatMicro(balanceMicro - reservedMicro)],
      ['Spent this month', formatMicro(spentMicro)],
      ['Monthly limit', operatorMonthlyLimitMicro === null ? 'none' : formatMicro(operatorMonthlyLimitMicro)],
      ['Own monthly limit', ownMonthlyLimitMicro === null ? 'none' : formatMicro(ownMonthlyLimitMicro)],
      ['API keys', `at most ${organization.maxApiKeys}`],
      ...rateFields(organization),
    ]),
    json: {
      ...toRecord(organization),
      balance_micro: microToJson(balanceMicro),
      held_micro: microToJson(reservedMicro),
      available_micro: microToJson(balanceMicro - reservedMicro),
      month_spent_micro: microToJson(spentMicro),
      monthly_limit_micro: operatorMonthlyLimitMicro === null ? null : microToJson(operatorMonthlyLimitMicro),
      own_monthly_limit_micro: ownMonthlyLimitMicro === null ? null : microToJson(ownMonthlyLimitMicro),
    },
  };
}

function toRecord(organization: OrganizationEntity) {
  const { id, name, status, createdAt } = organization;
  return {
    id,
    name,
    status,
    requests_per_second: organization.requestsPerSecond,
    requests_per_minute: organization.requestsPerMinute,
    tokens_per_minute: organization.tokensPerMinute,
    concurrency: organization.concurrency,
    max_api_keys: organization.maxApiKeys,
    created_at: createdAt.toISOString(),
  };
}
