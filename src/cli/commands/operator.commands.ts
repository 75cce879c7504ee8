import { readFileSync } from 'node:fs';
import { type Command, InvalidArgumentError } from 'commander';
import { load } from 'js-yaml';
import { BalanceAdjustmentService } from '../../billing/ledger/ledger.service';
import { COMMAND_LINE } from '../../core/types/actor';
import { type Micro, microToJson } from '../../core/types/micro';
import {
  CatalogAdminService,
  type DecidedDeployment,
  type DeploymentChanges,
} from '../../models/catalog-admin.service';
import { publishCatalogChange } from '../../models/model-catalog.service';
import { PriceAdminService } from '../../models/price-admin.service';
import { type CliContext, CliError, loadProviders, withContext } from '../cli-context';
import { type CommandResult, formatMicro, formatTable, run } from '../command-result';
import { parseAmount, parseId, parseInteger, parseReference, parseText } from '../option-parsers';
import { addDeploymentCommands } from './deployment.commands';

/** Operator commands for balances, models, deployments and prices, equivalent to the dashboard. */
export function addOperatorCommands(program: Command): void {
  addAdjustCommand(program);
  const model = program.command('model').description('override which models are served');
  for (const [name, enabled] of [
    ['enable', true],
    ['disable', false],
  ] as const) {
    model
      .command(name)
      .description(enabled ? 'serve a model; it needs a price' : 'stop serving a model')
      .requiredOption('--model <id>', '<vendor>/<name>', parseText)
      .action(run((options: ModelOptions) => decideModel(options, enabled)));
  }

  const deployment = program
    .command('deployment')
    .description('manage deployments of models, and the identity of this one');
  addDeploymentCommands(deployment);
  deployment
    .command('list')
    .description('list deployments in the order of attempts')
    .option('--model <id>', 'only those of this model', parseText)
    .action(run(listDeployments));
  deployment
    .command('set')
    .description('override settings of a deployment; "files" restores the value of the catalogue files')
    .requiredOption('--deployment <id>', 'deployment id', parseId)
    .option('--enabled <yes|no|files>', 'whether the deployment receives requests', parseChoice)
    .option('--priority <number>', 'lowest first, or "files"', parseNumberOrFiles(0))
    .option('--weight <number>', 'share of requests among equal priorities, or "files"', parseNumberOrFiles(1))
    .action(run(setDeployment));

  const price = program.command('price').description('manage prices of models');
  price
    .command('add')
    .description('add a price, which overrides the catalogue files')
    .requiredOption('--model <id>', '<vendor>/<name>', parseText)
    .requiredOption('--file <path>', 'YAML or JSON such as { tokens: { per_1m_micro: { input: 1, output: 2 } } }')
    .requiredOption('--ref <text>', 'source of the figures', parseReference)
    .option('--deployment <id>', 'only for this deployment', parseId)
    .option('--from <time>', 'start; default: now', parseText)
    .option('--to <time>', 'end', parseText)
    .action(run(addPrice));
  price
    .command('withdraw')
    .description('withdraw a price that has not started; the catalogue files apply again')
    .requiredOption('--model <id>', '<vendor>/<name>', parseText)
    .requiredOption('--price <id>', 'price version id', parseId)
    .action(run(withdrawPrice));
  price
    .command('end')
    .description('end a price in force, now or later; the one in force without it applies, or the model is not served')
    .requiredOption('--model <id>', '<vendor>/<name>', parseText)
    .requiredOption('--price <id>', 'price version id', parseId)
    .requiredOption('--ref <text>', 'why it ends', parseReference)
    .option('--effective-to <time>', 'end; default: now', parseText)
    .action(run(endPrice));
}

function addAdjustCommand(program: Command): void {
  const organization = program.commands.find((command) => command.name() === 'org');
  if (organization === undefined) throw new Error('add the organization commands first');
  organization
    .command('adjust')
    .description('correct the balance; a repeated reference has no effect')
    .requiredOption('--org <id>', 'organization id', parseId)
    .requiredOption(
      '--amount-micro <amount>',
      'in micro-units, negative to deduct; 1 USD is 1000000',
      parseSignedAmount,
    )
    .requiredOption('--ref <text>', 'reference, unique per organization', parseReference)
    .requiredOption('--reason <text>', 'reason for the audit log', parseText)
    .action(run(adjustBalance));
}

interface AdjustOptions {
  readonly org: string;
  readonly amountMicro: Micro;
  readonly ref: string;
  readonly reason: string;
}

function adjustBalance({ org, amountMicro, ref, reason }: AdjustOptions): Promise<CommandResult> {
  return withContext(async ({ dataSource }) => {
    const adjustment = { amountMicro, reference: ref, reason };
    const { applied, balanceMicro } = await new BalanceAdjustmentService(dataSource).adjust(
      org,
      adjustment,
      COMMAND_LINE,
    );
    const summary = applied ? `Booked ${formatMicro(amountMicro)}.` : `No change: ${ref} was already booked.`;
    return {
      text: `${summary} Balance: ${formatMicro(balanceMicro)}.`,
      json: { organization_id: org, applied, balance_micro: microToJson(balanceMicro) },
    };
  });
}

interface ModelOptions {
  readonly model: string;
}

function decideModel({ model }: ModelOptions, enabled: boolean): Promise<CommandResult> {
  return withContext(async (context) => {
    const { row, obstacles } = await (await catalogOf(context)).updateModel(model, { enabled }, COMMAND_LINE);
    const rest = obstacles.length === 0 ? 'is served' : `is not served: ${obstacles.join(', ')}`;
    return {
      text: `${row.id} ${rest} (with the settings of this command).`,
      json: { id: row.id, enabled: row.enabled, not_served_because: obstacles },
    };
  });
}

function listDeployments({ model }: Partial<ModelOptions>): Promise<CommandResult> {
  return withContext(async (context) => {
    const catalog = await catalogOf(context);
    const models = (await catalog.listModels()).filter(({ row }) => model === undefined || row.id === model);
    const deployments = models.flatMap((each) => each.deployments);
    return {
      text: formatTable(
        ['ID', 'MODEL', 'PROVIDER', 'UPSTREAM MODEL', 'ENABLED', 'PRIORITY', 'WEIGHT'],
        deployments.map(({ row }) => [
          row.id,
          row.modelId,
          row.provider,
          row.upstreamModel,
          row.enabled ? 'yes' : 'no',
          String(row.priority),
          String(row.weight),
        ]),
        'No deployments.',
      ),
      json: { deployments: deployments.map(toRecord) },
    };
  });
}

interface DeploymentOptions {
  readonly deployment: string;
  readonly enabled?: 'yes' | 'no' | 'files';
  readonly priority?: number | 'files';
  readonly weight?: number | 'files';
}

function setDeployment({ deployment, enabled, priority, weight }: DeploymentOptions): Promise<CommandResult> {
  return withContext(async (context) => {
    const changes: DeploymentChanges = {
      enabled: enabled === undefined ? undefined : enabled === 'files' ? null : enabled === 'yes',
      priority: priority === 'files' ? null : priority,
      weight: weight === 'files' ? null : weight,
    };
    const changed = await (await catalogOf(context)).updateDeployment(deployment, changes, COMMAND_LINE);
    const record = toRecord(changed);
    return { text: `${record.id}: ${JSON.stringify(record)}`, json: record };
  });
}

interface PriceOptions extends ModelOptions {
  readonly file: string;
  readonly ref: string;
  readonly deployment?: string;
  readonly from?: string;
  readonly to?: string;
}

function addPrice({ model, file, ref, deployment, from, to }: PriceOptions): Promise<CommandResult> {
  const price = readPrice(file);
  return withContext(async (context) => {
    const input = { deploymentId: deployment, effectiveFrom: from, effectiveTo: to, reference: ref, price };
    const version = await pricesOf(context).add(model, input, COMMAND_LINE);
    const begins = version.effectiveFrom.toISOString();
    return {
      text: `${model} has a new price from ${begins}.`,
      json: { id: version.id, model, effective_from: begins, revision: version.revision },
    };
  });
}

interface PriceWithdrawal extends ModelOptions {
  readonly price: string;
}

function withdrawPrice({ model, price }: PriceWithdrawal): Promise<CommandResult> {
  return withContext(async (context) => {
    const { id, effectiveFrom, revision, content } = await pricesOf(context).withdraw(model, price, COMMAND_LINE);
    return {
      text: `The price of ${model} was withdrawn.`,
      json: { id, model, effective_from: effectiveFrom.toISOString(), revision, price: content },
    };
  });
}

interface PriceEndingOptions extends PriceWithdrawal {
  readonly ref: string;
  readonly effectiveTo?: string;
}

function endPrice({ model, price, ref, effectiveTo }: PriceEndingOptions): Promise<CommandResult> {
  return withContext(async (context) => {
    const ending = { effectiveTo, reference: ref };
    const ended = await pricesOf(context).end(model, price, ending, COMMAND_LINE);
    const end = ended.effectiveTo?.toISOString() ?? null;
    return {
      text: `The price of ${model} ends at ${end}.`,
      json: { id: ended.id, model, effective_to: end, revision: ended.revision },
    };
  });
}

/** Parses YAML, which includes JSON. */
function readPrice(file: string): unknown {
  try {
    return load(readFileSync(file, 'utf8'));
  } catch (error) {
    // Further lines of a YAML error quote the file.
    const [reason] = String(error instanceof Error ? error.message : error).split('\n', 1);
    throw new CliError(`Cannot read ${file}: ${reason}`);
  }
}

function pricesOf({ dataSource, clock, redis }: CliContext): PriceAdminService {
  return new PriceAdminService(dataSource, clock, { announce: () => publishCatalogChange(redis) });
}

async function catalogOf({ config, dataSource, clock, redis }: CliContext): Promise<CatalogAdminService> {
  return new CatalogAdminService(dataSource, await loadProviders(config), clock, {
    announce: () => publishCatalogChange(redis),
  });
}

function toRecord({ row }: DecidedDeployment) {
  const { id, modelId, provider, upstreamModel, enabled, priority, weight } = row;
  return { id, model: modelId, provider, upstream_model: upstreamModel, enabled, priority, weight };
}

function parseSignedAmount(text: string): Micro {
  return text.startsWith('-') ? -parseAmount(text.slice(1)) : parseAmount(text);
}

function parseChoice(text: string): 'yes' | 'no' | 'files' {
  if (text === 'yes' || text === 'no' || text === 'files') return text;
  throw new InvalidArgumentError('Expected yes, no or files.');
}

/** Same bounds as the dashboard API. */
function parseNumberOrFiles(min: number): (text: string) => number | 'files' {
  return (text) => {
    if (text === 'files') return text;
    const number = parseInteger(text);
    if (number < min || number > 1000) throw new InvalidArgumentError(`Expected a number from ${min} to 1000.`);
    return number;
  };
}
