/**
 * Other gateways that the bench can run beside ours. They are found on the machine and never installed by this project.
 */
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort, startProgram } from '#bench/children';
import type { Target } from '#bench/measure';
import type { PeerChoice, PeerName } from '#bench/options';
import { findProgram, untilReady } from '#bench/servers';
import { MODEL_ID, MODEL_NAME } from '#bench/wire';

/** A Python gateway imports for a long time. */
const READY_TIMEOUT_MS = 90_000;

interface PeerPlaces {
  /** Empty folder for its configuration and log. */
  readonly directory: string;
  readonly upstreamOrigin: string;
}

/** Resolves to `null` when the peer is not installed. */
export async function startPeer({ name, path }: PeerChoice, bench: PeerPlaces): Promise<Target | null> {
  const program = path ?? FINDERS[name]();
  if (program === null) return null;
  if (!existsSync(program)) throw new Error(`--against ${name}: ${program} does not exist`);
  const directory = join(bench.directory, name);
  mkdirSync(directory);
  return STARTERS[name](program, { ...bench, directory });
}

const FINDERS: Readonly<Record<PeerName, () => string | null>> = {
  portkey: () => {
    const folder = execFileSync('npm', ['root', '--global'], { encoding: 'utf8' }).trim();
    const script = join(folder, '@portkey-ai', 'gateway', 'build', 'start-server.js');
    return existsSync(script) ? script : null;
  },
  litellm: () => findProgram('litellm'),
};

const STARTERS: Readonly<Record<PeerName, (program: string, places: PeerPlaces) => Promise<Target>>> = {
  portkey: startPortkey,
  litellm: startLitellm,
};

/** Portkey's open-source gateway: it forwards to the host named in a header, and keeps no keys, limits or money. */
async function startPortkey(script: string, { directory, upstreamOrigin }: PeerPlaces): Promise<Target> {
  const port = await freePort();
  const child = startProgram({
    command: process.execPath,
    args: [script, `--port=${port}`, '--headless'],
    logFile: join(directory, 'portkey.log'),
    stopSignal: 'SIGTERM',
    options: { cwd: directory, env: { ...minimalEnvironment(), TRUSTED_CUSTOM_HOSTS: '127.0.0.1' } },
  });
  const origin = `http://127.0.0.1:${port}`;
  await untilReady(child, 'Portkey', () => answers(`${origin}/`), READY_TIMEOUT_MS);
  const headers = {
    authorization: 'Bearer bench',
    'x-portkey-provider': 'openai',
    'x-portkey-custom-host': `${upstreamOrigin}/v1`,
  };
  return { name: 'portkey', origin, headers, expectedText: '', pid: child.pid };
}

/** LiteLLM's proxy with one model and its master key, without a database: it keeps no limits or money either. */
async function startLitellm(program: string, { directory, upstreamOrigin }: PeerPlaces): Promise<Target> {
  const port = await freePort();
  const masterKey = `sk-${randomBytes(32).toString('hex')}`;
  const configuration = join(directory, 'litellm.yaml');
  writeFileSync(
    configuration,
    `model_list:
  - model_name: ${MODEL_ID}
    litellm_params: {model: openai/${MODEL_NAME}, api_base: "${upstreamOrigin}/v1", api_key: bench}
`,
  );
  const child = startProgram({
    command: program,
    args: ['--config', configuration, '--host', '127.0.0.1', '--port', String(port)],
    logFile: join(directory, 'litellm.log'),
    stopSignal: 'SIGTERM',
    options: {
      cwd: directory,
      env: { ...minimalEnvironment(), LITELLM_MASTER_KEY: masterKey, LITELLM_LOG: 'ERROR' },
    },
  });
  const origin = `http://127.0.0.1:${port}`;
  await untilReady(child, 'LiteLLM', () => answers(`${origin}/health/liveliness`), READY_TIMEOUT_MS);
  return {
    name: 'litellm',
    origin,
    headers: { authorization: `Bearer ${masterKey}` },
    expectedText: '',
    pid: child.pid,
  };
}

function minimalEnvironment(): NodeJS.ProcessEnv {
  return { PATH: process.env.PATH, HOME: process.env.HOME };
}

async function answers(url: string): Promise<boolean> {
  const reply = await fetch(url);
  await reply.body?.cancel();
  return reply.ok;
}
