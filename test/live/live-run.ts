/** Runs the journeys against every vendor whose key is set, through a gateway as users start it. */
import { resolve } from 'node:path';
import OpenAI, { APIError } from 'openai';
import { type CatalogEntry, type CatalogEntryDeployment, endMs, startMs } from '../../src/models/catalog.schema';
import { loadCatalog } from '../../src/models/load-catalog';
import { isDeploymentRunnable } from '../../src/models/review-catalog';
import { SUBJECTS } from '../conformance/subjects';
import { endChildren } from '../harness/child-process';
import {
  createDataDirectory,
  GatewayProcess,
  type GatewayProcessSettings,
  runCommand,
} from '../harness/gateway-process';
import { type Journey, JOURNEYS, LiveModel } from './journeys';

/** 10 dollars, far more than the journeys cost. */
const CREDIT_MICRO = '10000000';
const TIMEOUT_MS = 180_000;
const MAX_REASON_LENGTH = 300;
const COLUMNS = ['vendor', 'model', 'journey', 'result', 'ms', 'cost_micro', 'usage'] as const;

/** One line of the table, and the reason of a failure. */
interface Row extends Readonly<Record<(typeof COLUMNS)[number], string>> {
  readonly failure?: string;
}

export interface LiveSettings {
  /** Where the keys and base URLs of the vendors are. */
  readonly environment: NodeJS.ProcessEnv;
  /** Databases of the gateway; without them it starts its own. */
  readonly services?: Pick<GatewayProcessSettings, 'databaseUrl' | 'redisUrl'>;
  print(line: string): void;
}

/** @returns the exit code: 1 if a journey failed */
export async function runLive(settings: LiveSettings): Promise<0 | 1> {
  const definitions = SUBJECTS.map(({ definition }) => definition).filter(({ credentials }) => credentials.length > 0);
  const names = definitions.flatMap(({ credentials }) => credentials);
  const given = Object.fromEntries(
    names.flatMap((name) => (settings.environment[name] ? [[name, settings.environment[name]]] : [])),
  );
  const vendors = definitions.flatMap((definition) => {
    const provider = definition.create(given);
    void provider?.close();
    return provider === null ? [] : [definition.id];
  });
  const secrets = Object.entries(given).flatMap(([name, value]) => (name.endsWith('_BASE_URL') ? [] : [value]));
  const print = (line: string): void =>
    settings.print(secrets.reduce((text, secret) => text.replaceAll(secret, '[key]'), line));
  if (vendors.length === 0) {
    print(`Nothing was tested: no vendor is configured. These variables would configure one: ${names.join(', ')}`);
    return 0;
  }
  const catalogDir = settings.environment.CATALOG_DIR && resolve(settings.environment.CATALOG_DIR);
  const { result: rows, log } = await withGateway(
    { ...settings.services, catalogDir, environment: given },
    async (client) => {
      const catalog = (await loadCatalog(catalogDir ?? null)).map(({ entry }) => entry);
      // A vendor's calls follow each other: its limits may be low.
      return Promise.all(vendors.map((vendor) => runVendor(client, vendor, catalog)));
    },
  );
  const exitCode = report(rows.flat(), print);
  // The status and the codes of the vendors' refusals.
  for (const line of log.split('\n')) if (line.includes('"event":"provider_c')) print(line);
  return exitCode;
}

async function runVendor(client: OpenAI, vendor: string, catalog: readonly CatalogEntry[]): Promise<Row[]> {
  const rows: Row[] = [];
  for (const journey of JOURNEYS) rows.push(await runJourney(client, vendor, journey, catalog));
  return rows;
}

async function runJourney(
  client: OpenAI,
  vendor: string,
  journey: Journey,
  catalog: readonly CatalogEntry[],
): Promise<Row> {
  const row = { vendor, model: '-', journey: journey.name, result: 'no model', ms: '-', cost_micro: '-', usage: '-' };
  const entry = cheapestOf(vendor, journey, catalog);
  if (entry === undefined) return row;
  const model = new LiveModel(client, entry, vendor);
  const startedAtMs = performance.now();
  const failure = await journey.run(model).then(() => undefined, reasonOf);
  const { costMicro, promptTokens, completionTokens, reasoningTokens } = model.spending;
  return {
    ...row,
    model: entry.id,
    result: failure === undefined ? 'passed' : 'FAILED',
    ms: (performance.now() - startedAtMs).toFixed(0),
    cost_micro: String(costMicro),
    usage: `${promptTokens}+${completionTokens}${reasoningTokens > 0 ? ` (${reasoningTokens} reasoning)` : ''}`,
    failure,
  };
}

/** By the sum of its prices per token of input and output. */
function cheapestOf(vendor: string, journey: Journey, catalog: readonly CatalogEntry[]): CatalogEntry | undefined {
  const nowMs = Date.now();
  const isServed = ({ retires }: { retires?: string }) => retires === undefined || startMs(retires) > nowMs;
  return catalog
    .filter((entry) => entry.status !== 'disabled' && isServed(entry))
    .filter((entry) => journey.isOffered(entry))
    .flatMap((entry) =>
      entry.deployments
        .filter(({ provider, when }) => provider === vendor && when?.tools !== !journey.hasTools)
        .filter((deployment) => isServed(deployment) && isDeploymentRunnable(entry, deployment))
        .map((deployment) => ({ entry, rate: rateOf(entry, deployment, nowMs) })),
    )
    .toSorted((one, next) => one.rate - next.rate)[0]?.entry;
}

function rateOf(entry: CatalogEntry, { prices }: CatalogEntryDeployment, nowMs: number): number {
  const inForce = (prices.length > 0 ? prices : entry.prices)
    .filter(({ effective_from: from, effective_to: to }) => startMs(from) <= nowMs && (!to || endMs(to) > nowMs))
    .toSorted((one, next) => startMs(one.effective_from) - startMs(next.effective_from));
  const rates = inForce.at(-1)?.tokens?.per_1m_micro;
  return rates === undefined ? Infinity : rates.input + rates.output;
}

async function withGateway<Result>(
  given: GatewayProcessSettings,
  use: (client: OpenAI) => Promise<Result>,
): Promise<{ readonly result: Result; readonly log: string }> {
  const directory = createDataDirectory();
  const settings = { ...given, dataDir: directory.path };
  try {
    const gateway = await GatewayProcess.start(settings);
    const run = async (...command: string[]): Promise<Record<string, string>> => {
      const { code, output } = await runCommand(settings, ...command, '--json');
      if (code !== 0) throw new Error(`${command[0]} ${command[1]} failed: ${output}`);
      return JSON.parse(output) as Record<string, string>;
    };
    const { id = '' } = await run('org', 'create', '--name', 'live');
    const [{ key }] = await Promise.all([
      run('key', 'create', '--org', id, '--name', 'live'),
      run('org', 'credit', '--org', id, '--amount-micro', CREDIT_MICRO, '--ref', 'live'),
    ]);
    const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: key, maxRetries: 1, timeout: TIMEOUT_MS });
    const result = await use(client);
    // The log is buffered until the gateway stops.
    await gateway.stop();
    return { result, log: gateway.log };
  } finally {
    await endChildren();
    directory.remove();
  }
}

function report(rows: readonly Row[], print: LiveSettings['print']): 0 | 1 {
  const header = Object.fromEntries(COLUMNS.map((column) => [column, column])) as unknown as Row;
  const widths = COLUMNS.map((column) => Math.max(...[header, ...rows].map((row) => row[column].length)));
  for (const row of [header, ...rows]) {
    print(
      COLUMNS.map((column, at) => row[column].padEnd(widths[at] ?? 0))
        .join('  ')
        .trimEnd(),
    );
  }
  for (const { vendor, journey, failure } of rows) {
    if (failure !== undefined) print(`${vendor}, ${journey}: ${failure}`);
  }
  const count = (result: string): number => rows.filter((row) => row.result === result).length;
  print(`${count('passed')} passed, ${count('FAILED')} failed, ${count('no model')} without a model in the catalogue`);
  return count('FAILED') > 0 ? 1 : 0;
}

function reasonOf(error: unknown): string {
  const details = error instanceof APIError ? (error.error as { details?: object } | undefined)?.details : undefined;
  const reason = `${error instanceof Error ? error.message : String(error)} ${JSON.stringify(details) ?? ''}`;
  return reason.replaceAll(/\s+/g, ' ').trim().slice(0, MAX_REASON_LENGTH);
}
