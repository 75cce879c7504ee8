/** The gateway as users run it, with an organization, a key and credit created by its command line. */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePort, startProgram } from '#bench/children';
import type { MeteredProcess } from '#bench/cpu';
import type { Target } from '#bench/measure';
import { untilReady } from '#bench/servers';
import { CATALOG_YAML, PRICE_MICRO } from '#bench/wire';

const ROOT = join(import.meta.dirname, '..', '..');
const SERVER = join(ROOT, 'dist', 'src', 'main.js');
const COMMAND_LINE = join(ROOT, 'dist', 'src', 'cli', 'main.js');
const DATA_FOLDER = 'data';
const CREDIT_MICRO = '1000000000000';

export interface GatewayPlaces {
  /** Empty folder for its data, catalogue and log. */
  readonly directory: string;
  readonly upstreamOrigin: string;
  /** `null`: it starts the embedded one. */
  readonly databaseUrl: string | null;
  readonly redisUrl: string | null;
}

export interface Gateway {
  readonly target: Target;
  readonly logFile: string;
  command(...args: string[]): Promise<CommandResult>;
}

export interface CommandResult {
  readonly exitCode: number;
  /** Parsed standard output. */
  readonly json: unknown;
  readonly standardError: string;
}

export async function startGateway(places: GatewayPlaces): Promise<Gateway> {
  if (!existsSync(SERVER)) throw new Error('dist/src/main.js is missing: run `npm run build` first');
  const catalogDirectory = join(places.directory, 'catalog');
  mkdirSync(catalogDirectory);
  writeFileSync(join(catalogDirectory, 'bench.yaml'), CATALOG_YAML);
  const port = await freePort();
  const environment = gatewayEnvironment(places, catalogDirectory, port);
  const logFile = join(places.directory, 'gateway.log');
  const child = startProgram({
    command: process.execPath,
    args: [SERVER],
    logFile,
    stopSignal: 'SIGTERM',
    options: { env: environment, cwd: places.directory },
  });
  const origin = `http://127.0.0.1:${port}`;
  await untilReady(child, 'the gateway', async () => {
    const reply = await fetch(`${origin}/ready`);
    await reply.body?.cancel();
    return reply.ok;
  });
  const command = (...args: string[]): Promise<CommandResult> => runCommand(environment, args);
  const key = await createKey(command);
  return {
    target: {
      name: 'gateway',
      origin,
      headers: { authorization: `Bearer ${key}` },
      expectedText: `"x_llm_cost_micro":${PRICE_MICRO}`,
      pid: child.pid,
    },
    logFile,
    command,
  };
}

/** The servers that the gateway runs itself, read from its data folder; none when it uses external ones. */
export function embeddedServices(directory: string): { databaseUrl: string | null; processes: MeteredProcess[] } {
  const file = join(directory, DATA_FOLDER, 'services.json');
  if (!existsSync(file)) return { databaseUrl: null, processes: [] };
  const { databaseUrl, postgresPid, redisPid } = JSON.parse(readFileSync(file, 'utf8')) as {
    readonly databaseUrl: string | null;
    readonly postgresPid: number | null;
    readonly redisPid: number | null;
  };
  const processes = [
    { name: 'postgres', pid: postgresPid },
    { name: 'redis', pid: redisPid },
  ].flatMap(({ name, pid }): MeteredProcess[] => (pid === null ? [] : [{ name, pid, scope: 'tree' }]));
  return { databaseUrl, processes };
}

/** Passes only the variables that any program needs, so that a developer's settings have no effect. */
function gatewayEnvironment(places: GatewayPlaces, catalogDirectory: string, port: number): NodeJS.ProcessEnv {
  return {
    PATH: process.env.PATH,
    HOME: process.env.HOME,
    HOST: '127.0.0.1',
    PORT: String(port),
    DATA_DIR: join(places.directory, DATA_FOLDER),
    CATALOG_DIR: catalogDirectory,
    API_KEY_PEPPER: randomBytes(32).toString('hex'),
    OPENAI_COMPATIBLE_BASE_URL: `${places.upstreamOrigin}/v1`,
    OPENAI_COMPATIBLE_API_KEY: 'bench',
    ...(places.databaseUrl === null ? {} : { DATABASE_URL: places.databaseUrl }),
    ...(places.redisUrl === null ? {} : { REDIS_URL: places.redisUrl }),
  };
}

/** Every limit of key and organization is checked, and none is ever reached. */
const LIMITS = ['--rps', '1000000', '--rpm', '60000000', '--tpm', '2000000000', '--concurrency', '100000'];

async function createKey(command: Gateway['command']): Promise<string> {
  const organization = textField(await command('org', 'create', '--name', 'bench', '--json'), 'id');
  await command('org', 'credit', '--org', organization, '--amount-micro', CREDIT_MICRO, '--ref', 'bench', '--json');
  await command('org', 'limit', '--org', organization, ...LIMITS, '--json');
  return textField(
    await command('key', 'create', '--org', organization, '--name', 'bench', ...LIMITS, '--json'),
    'key',
  );
}

function textField(result: CommandResult, name: string): string {
  const value = (result.json as Record<string, unknown> | null)?.[name];
  if (typeof value === 'string') return value;
  throw new Error(`no ${name} in the command's answer (exit ${result.exitCode}): ${result.standardError}`);
}

async function runCommand(environment: NodeJS.ProcessEnv, args: readonly string[]): Promise<CommandResult> {
  const options = { env: environment, maxBuffer: 64 * 1024 * 1024 };
  try {
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [COMMAND_LINE, ...args], options);
    return { exitCode: 0, json: parse(stdout), standardError: stderr };
  } catch (error) {
    const { code, stdout, stderr } = error as { code?: unknown; stdout?: string; stderr?: string };
    if (typeof code !== 'number') throw error;
    return { exitCode: code, json: parse(stdout ?? ''), standardError: stderr ?? '' };
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
