import { readFileSync } from 'node:fs';
import { type Command, InvalidArgumentError } from 'commander';
import { parse } from 'yaml';
import { BalanceAdjustmentService } from '../../billing/balance-adjustment.service';
import { COMMAND_LINE } from '../../common/actor';
import { type Micro, microToJson } from '../../common/micro';
import {
  CatalogAdminService,
  type DecidedDeployment,
  type DeploymentChanges,
} from '../../models/catalog-admin.service';
import { publishCatalogChange } from '../../models/catalog-change.listener';
import { PriceAdminService } from '../../models/price-admin.service';
import { ProvidersService } from '../../providers/providers.service';
import { type CliContext, CliError, withContext } from '../cli-context';
import { type CommandResult, formatMicro, formatTable, run } from '../command-result';
import { parseAmount, parseId, parseInteger, parseText } from '../option-parsers';

/** What operators decide about balances, models, deployments and prices, as the dashboard lets them. */
export function addOperatorCommands(program: Command): void {
  addAdjustCommand(program);
  const model = program.command('model').description('decide which models are served, whatever the files say');
  for (const [name, enabled] of [
    ['enable', true],
    ['disable', false],
  ] as const) {
    model
      .command(name)
      .description(enabled ? 'serve a model; it needs a price' : 'no longer serve a model')
      .requiredOption('--model <id>', '<vendor>/<name>', parseText)
      .action(run((options: ModelOptions) => decideModel(options, enabled)));
  }

  const deployment = program.command('deployment').description('where models run');
  deployment
    .command('list')
    .description('list deployments in the order in which they are tried')
    .option('--model <id>', 'only those of this model', parseText)
    .action(run(listDeployments));
  deployment
    .command('set')
    .description('decide about a deployment; "files" gives a setting back to the catalogue files')
    .requiredOption('--deployment <id>', 'the deployment', parseId)
    .option('--enabled <yes|no|files>', 'whether requests may go there', parseChoice)
    .option('--priority <number>', 'the lowest is tried first, or "files"', parseNumberOrFiles(0))
    .option('--weight <number>', 'how often it is chosen among equals, or "files"', parseNumberOrFiles(1))
    .action(run(setDeployment));

  const price = program.command('price').description('prices of models');
  price
    .command('add')
    .description('set a price, which holds before those of the catalogue files')
    .requiredOption('--model <id>', '<vendor>/<name>', parseText)
    .requiredOption('--file <path>', 'YAML or JSON such as { tokens: { per_1m_micro: { input: 1, output: 2 } } }')
    .requiredOption('--ref <text>', 'where the figures come from', parseText)
    .option('--deployment <id>', 'for this deployment alone', parseId)
    .option('--from <time>', 'when it begins; now when not given', parseText)
    .option('--to <time>', 'when it ends', parseText)
    .action(run(addPrice));
  price
    .command('withdraw')
    .description('take back a price that has not begun; the catalogue files hold again')
    .requiredOption('--model <id>', '<vendor>/<name>', parseText)
    .requiredOption('--price <id>', 'the version', parseId)
    .action(run(withdrawPrice));
}

function addAdjustCommand(program: Command): void {
  const organization = program.commands.find((command) => command.name() === 'org');
  if (organization === undefined) throw new Error('the commands of organizations have to be added first');
  organization
    .command('adjust')
    .description('correct the balance; repeating a reference changes nothing')
    .requiredOption('--org <id>', 'the organization', parseId)
    .requiredOption('--amount-micro <amount>', 'added, or taken when negative; 1 USD is 1000000', parseSignedAmount)
    .requiredOption('--ref <text>', 'unique for the organization', parseText)
    .requiredOption('--reason <text>', 'for the audit log', parseText)
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
    const what = applied ? `Booked ${formatMicro(amountMicro)}.` : `Nothing to do: ${ref} was booked before.`;
    return {
      text: `${what} Balance: ${formatMicro(balanceMicro)}.`,
      json: { organization_id: org, applied, balance_micro: microToJson(balanceMicro) },
    };
  });
}

interface ModelOptions {
  readonly model: string;
}

function decideModel({ model }: ModelOptions, enabled: boolean): Promise<CommandResult> {
  return withContext(async (context) => {
    const { row, obstacles } = await catalogOf(context).updateModel(model, { enabled }, COMMAND_LINE);
    const rest = obstacles.length === 0 ? 'is served' : `is not served: ${obstacles.join(', ')}`;
    return {
      text: `${row.id} ${rest}, as far as the settings of this command tell.`,
      json: { id: row.id, enabled: row.enabled, not_served_because: obstacles },
    };
  });
}

function listDeployments({ model }: Partial<ModelOptions>): Promise<CommandResult> {
  return withContext(async (context) => {
    const models = (await catalogOf(context).listModels()).filter(({ row }) => model === undefined || row.id === model);
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
        'There are no deployments.',
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
    const changed = await catalogOf(context).updateDeployment(deployment, changes, COMMAND_LINE);
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
      text: `${model} has a new price from ${begins} on.`,
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
      text: `${model} does not get this price.`,
      json: { id, model, effective_from: effectiveFrom.toISOString(), revision, price: content },
    };
  });
}

/** JSON is read as the YAML that it also is. */
function readPrice(file: string): unknown {
  try {
    return parse(readFileSync(file, 'utf8'));
  } catch (error) {
    throw new CliError(`${file} cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function pricesOf({ dataSource, clock, redis }: CliContext): PriceAdminService {
  return new PriceAdminService({ dataSource, clock, announce: () => publishCatalogChange(redis) });
}

function catalogOf({ config, dataSource, clock, redis }: CliContext): CatalogAdminService {
  const { configuredIds: configuredProviders } = new ProvidersService(config);
  return new CatalogAdminService({
    dataSource,
    configuredProviders,
    clock,
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

/** The bounds of the dashboard's API. */
function parseNumberOrFiles(min: number): (text: string) => number | 'files' {
  return (text) => {
    if (text === 'files') return text;
    const number = parseInteger(text);
    if (number < min || number > 1000) throw new InvalidArgumentError(`Expected ${min} to 1000.`);
    return number;
  };
}
