import { readFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { loadConfig } from '../../core/config/load-config';
import { listPendingMigrations, runMigrations } from '../../core/database/run-migrations';
import { TaskLeaseDirectory } from '../../core/scheduling/task-lease';
import { countOf } from '../../core/types/count-of';
import { importCatalog } from '../../models/catalog-import';
import { CatalogRepository } from '../../models/catalog.repository';
import {
  CatalogError,
  formatProblem,
  loadCatalog,
  type CatalogProblem,
  type LoadedModel,
} from '../../models/load-catalog';
import { diffWithPriceList, type PriceListDiff } from '../../models/price-list-diff';
import { findRetired, findUnknownProviders, findWarnings } from '../../models/review-catalog';
import { CliError, loadProviders, withContext, withServices } from '../cli-context';
import { formatTable, run, type CommandResult } from '../command-result';

export function addOperationCommands(program: Command): void {
  const catalog = program.command('catalog').description('check and import the model catalogue');
  catalog.command('check').description('validate the built-in catalogue and CATALOG_DIR').action(run(checkCatalog));
  catalog.command('import').description('import the catalogue files into the database').action(run(importCatalogFiles));

  catalog
    .command('diff')
    .description('compare token prices and limits with a price list; exit code 1 if they differ')
    .argument('<file>', 'JSON of models.dev (api.json) or LiteLLM (model_prices_and_context_window.json)')
    .action(run(diffCatalog));

  program
    .command('migrate')
    .description('apply pending database migrations')
    .option('--plan', 'only list them')
    .action(
      run(({ plan = false }: { plan?: boolean }) =>
        withServices(({ databaseUrl }) => (plan ? planMigrations(databaseUrl) : migrate(databaseUrl))),
      ),
    );

  program
    .command('leases')
    .description('list the periodic tasks that one process runs at a time, and that process or the latest')
    .action(run(listLeases));
}

async function checkCatalog(): Promise<CommandResult> {
  const config = loadConfig();
  const { models, errors } = await readCatalog(config.catalogDir);
  const knownProviders = new Set((await loadProviders(config)).describe().map(({ id }) => id));
  const warnings = [
    ...findWarnings(models),
    ...findRetired(models, Date.now()),
    ...findUnknownProviders(models, knownProviders),
  ];
  return {
    text: [
      ...errors.map((problem) => `error: ${formatProblem(problem)}`),
      ...warnings.map((problem) => `warning: ${formatProblem(problem)}`),
      errors.length > 0
        ? `The catalogue has ${countOf(errors.length, 'error')}.`
        : `The catalogue is valid: ${countOf(models.length, 'model')}, ${countOf(warnings.length, 'warning')}.`,
    ].join('\n'),
    json: { valid: errors.length === 0, models: models.length, errors, warnings },
    failed: errors.length > 0,
  };
}

async function diffCatalog(file: string): Promise<CommandResult> {
  const models = await loadCatalog(loadConfig().catalogDir);
  let diff: PriceListDiff;
  try {
    diff = diffWithPriceList(models, JSON.parse(await readFile(file, 'utf8')), Date.now());
  } catch (error) {
    throw new CliError(`${file} cannot be compared: ${(error as Error).message}`);
  }
  const { differences, compared, unlisted } = diff;
  const table = formatTable(
    ['MODEL', 'PROVIDER', 'UPSTREAM MODEL', 'FIELD', 'CATALOGUE', 'LISTED'],
    differences.map(({ model, provider, upstreamModel, field, catalogue, listed }) => [
      model,
      provider,
      upstreamModel,
      field,
      String(catalogue ?? 'none'),
      String(listed),
    ]),
    'Nothing differs.',
  );
  return {
    text: `${table}\n${countOf(compared, 'deployment')} compared, ${unlisted.length} not in the list. Prices: micro-units per million tokens.`,
    json: {
      compared,
      unlisted,
      differences: differences.map(({ upstreamModel, ...rest }) => ({ ...rest, upstream_model: upstreamModel })),
    },
    failed: differences.length > 0,
  };
}

async function readCatalog(
  directory: string | null,
): Promise<{ readonly models: readonly LoadedModel[]; readonly errors: readonly CatalogProblem[] }> {
  try {
    return { models: await loadCatalog(directory), errors: [] };
  } catch (error) {
    if (error instanceof CatalogError) return { models: [], errors: error.problems };
    throw error;
  }
}

function importCatalogFiles(): Promise<CommandResult> {
  return withContext(async ({ config, clock, dataSource }) => {
    const models = await loadCatalog(config.catalogDir);
    const summary = await importCatalog(new CatalogRepository(dataSource), models, clock.now());
    const { added, changed, disabled, prices } = summary;
    return {
      text:
        `Read ${countOf(models.length, 'model')}: ${added.length} added, ${changed.length} changed, ` +
        `${disabled.length} disabled, ${countOf(prices, 'new price')}. Running gateways apply this within 30 seconds.`,
      json: { models: models.length, ...summary },
    };
  });
}

function listLeases(): Promise<CommandResult> {
  return withContext(async ({ dataSource }) => {
    const leases = await new TaskLeaseDirectory(dataSource).list();
    const rows = leases.map(({ task, owner, held, until }) => [
      task,
      held ? 'yes' : 'no',
      until?.toISOString() ?? '-',
      owner ?? '-',
    ]);
    return { text: formatTable(['TASK', 'HELD', 'UNTIL', 'PROCESS'], rows, 'There are no tasks.'), json: { leases } };
  });
}

async function migrate(databaseUrl: string): Promise<CommandResult> {
  const applied = await runMigrations(databaseUrl);
  return {
    text: applied.length === 0 ? 'The database is up to date.' : ['Applied:', ...applied].join('\n  '),
    json: { applied },
  };
}

async function planMigrations(databaseUrl: string): Promise<CommandResult> {
  const pending = await listPendingMigrations(databaseUrl);
  return {
    text: pending.length === 0 ? 'The database is up to date.' : ['Pending:', ...pending].join('\n  '),
    json: { pending },
  };
}
