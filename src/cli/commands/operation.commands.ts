import type { Command } from 'commander';
import type { Micro } from '../../common/micro';
import { microToJson } from '../../common/micro';
import { loadConfig } from '../../config/load-config';
import { runMigrations } from '../../database/run-migrations';
import { importCatalog } from '../../models/catalog-import';
import { CatalogRepository } from '../../models/catalog.repository';
import {
  CatalogError,
  formatProblem,
  loadCatalog,
  type CatalogProblem,
  type LoadedModel,
} from '../../models/load-catalog';
import { findUnknownProviders, findWarnings } from '../../models/review-catalog';
import { PROVIDER_DEFINITIONS } from '../../providers/registry';
import { withContext, withServices } from '../cli-context';
import { formatTable, run, type CommandResult } from '../command-result';

export function addOperationCommands(program: Command): void {
  const catalog = program.command('catalog').description('check and import the model catalogue');
  catalog
    .command('check')
    .description('read the built-in catalogue and CATALOG_DIR, and say what is wrong with them')
    .action(run(checkCatalog));
  catalog
    .command('import')
    .description('bring the database to what the catalogue files say')
    .action(run(importCatalogFiles));

  const ledger = program.command('ledger').description('audit the books');
  ledger
    .command('verify')
    .description('list every broken invariant; ends with 1 when there is one')
    .action(run(verifyLedger));

  program
    .command('migrate')
    .description('bring the database schema up to date')
    .action(run(() => withServices(({ databaseUrl }) => migrate(databaseUrl))));
}

async function checkCatalog(): Promise<CommandResult> {
  const { models, errors } = await readCatalog(loadConfig().catalogDir);
  const knownProviders = new Set(PROVIDER_DEFINITIONS.map(({ id }) => id));
  const warnings = [...findWarnings(models), ...findUnknownProviders(models, knownProviders)];
  return {
    text: [
      ...errors.map((problem) => `error: ${formatProblem(problem)}`),
      ...warnings.map((problem) => `warning: ${formatProblem(problem)}`),
      errors.length > 0
        ? `The catalogue has ${errors.length} errors.`
        : `The catalogue is valid: ${models.length} models, ${warnings.length} warnings.`,
    ].join('\n'),
    json: { valid: errors.length === 0, models: models.length, errors, warnings },
    failed: errors.length > 0,
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
        `Read ${models.length} models: ${added.length} added, ${changed.length} changed, ` +
        `${disabled.length} disabled, ${prices} new prices. Running gateways follow within 30 seconds.`,
      json: { models: models.length, ...summary },
    };
  });
}

function verifyLedger(): Promise<CommandResult> {
  return withContext(async ({ ledger }) => {
    const violations = await ledger.verify();
    return {
      text: formatTable(
        ['INVARIANT', 'SUBJECT', 'DIFFERENCE (MICRO)'],
        violations.map(({ invariant, subject, differenceMicro }) => [invariant, subject, differenceMicro.toString()]),
        'The books are right: every invariant holds.',
      ),
      json: {
        ok: violations.length === 0,
        violations: violations.map(({ invariant, subject, differenceMicro }) => ({
          invariant,
          subject,
          difference_micro: toJson(differenceMicro),
        })),
      },
      failed: violations.length > 0,
    };
  });
}

/** Books that are wrong may be wrong by more than a JSON number can hold: then it is text. */
function toJson(amount: Micro): number | string {
  try {
    return microToJson(amount);
  } catch {
    return amount.toString();
  }
}

async function migrate(databaseUrl: string): Promise<CommandResult> {
  const applied = await runMigrations(databaseUrl);
  return {
    text: applied.length === 0 ? 'The database is up to date.' : ['Applied:', ...applied].join('\n  '),
    json: { applied },
  };
}
