/**
 * `npm run test:package`: packs the project, installs the package in an empty folder, starts it with `npx gateway` and
 * the embedded servers, and sends one chat and one command. Needs the npm registry.
 */
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { endChildren, ManagedChild } from '../harness/child-process';

const ROOT = resolve(__dirname, '../..');
const READY_WITHIN_MS = 60_000;
const FIRST_REQUEST = /Demo API key: (\S+)[^]*?curl (\S+)\/v1\/chat\/completions/;
/** What the package itself may weigh; its dependencies come on top. */
const MAX_PACKED_BYTES = 10_000_000;

const print = (line: string): boolean => process.stdout.write(`${line}\n`);

async function main(directory: string): Promise<void> {
  const file = pack(directory);
  const folder = join(directory, 'empty');
  mkdirSync(folder);
  writeFileSync(join(folder, 'package.json'), '{ "private": true }');
  const installedMs = timed(() => npm(folder, 'install', '--no-audit', '--no-fund', file));
  print(`installed in ${seconds(installedMs)}`);
  const startedAtMs = performance.now();
  const environment = {
    PATH: process.env.PATH,
    HOME: process.env.HOME,
    PORT: '0',
    DATA_DIR: join(directory, 'data'),
  };
  const gateway = new ManagedChild({
    command: join(folder, 'node_modules/.bin/gateway'),
    args: [],
    options: { cwd: folder, env: environment },
    stopSignal: 'SIGTERM',
  });
  const { key, url } = await firstRequest(gateway, startedAtMs);
  const answer = await chat(url, key);
  print(`"${answer}" ${seconds(performance.now() - startedAtMs)} after the start`);
  const command = ['gateway', 'ledger', 'verify', '--json'];
  const books = execFileSync('npx', ['--no-install', ...command], { cwd: folder, env: environment, encoding: 'utf8' });
  if ((JSON.parse(books) as { ok: boolean }).ok !== true) throw new Error(`the books are not in order: ${books}`);
  const { code } = await gateway.end();
  if (code !== 0) throw new Error(`the gateway ended with ${code}:\n${gateway.output}`);
  print('the command line works, and the gateway stops cleanly');
}

function pack(directory: string): string {
  // `prepack` builds; an existing build is current where this runs after the tests.
  const output = npm(ROOT, 'pack', '--json', '--pack-destination', directory);
  const listed = JSON.parse(output.slice(output.search(/[[{]/))) as object;
  const [packed] = (Array.isArray(listed) ? listed : Object.values(listed)) as {
    filename: string;
    size: number;
    files: readonly { path: string }[];
  }[];
  if (packed === undefined) throw new Error(`npm pack printed no package:\n${output}`);
  print(`packed ${packed.files.length} files, ${(packed.size / 1e6).toFixed(1)} MB`);
  const foreign = packed.files.filter(({ path }) => /^(src|test)\/|\.spec\.|(^|\/)\.env$/.test(path));
  if (foreign.length > 0) throw new Error(`the package contains ${foreign.map(({ path }) => path).join(', ')}`);
  if (packed.size > MAX_PACKED_BYTES) throw new Error('the package is too large');
  return join(directory, packed.filename);
}

async function firstRequest(gateway: ManagedChild, startedAtMs: number): Promise<{ key: string; url: string }> {
  for (;;) {
    const [, key, url] = FIRST_REQUEST.exec(gateway.output) ?? [];
    if (key !== undefined && url !== undefined) return { key, url };
    if (gateway.hasExited || performance.now() - startedAtMs > READY_WITHIN_MS) {
      throw new Error(`the gateway is not ready:\n${gateway.output}`);
    }
    await delay(50);
  }
}

async function chat(url: string, key: string): Promise<string> {
  const reply = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'mock/chat-1', messages: [{ role: 'user', content: 'Hello!' }] }),
  });
  const text = await reply.text();
  if (reply.status !== 200) throw new Error(`the chat got ${reply.status}: ${text}`);
  return (JSON.parse(text) as { choices: { message: { content: string } }[] }).choices[0]?.message.content ?? '';
}

function npm(cwd: string, ...args: string[]): string {
  return execFileSync('npm', args, { cwd, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 });
}

function timed(work: () => void): number {
  const startedAtMs = performance.now();
  work();
  return performance.now() - startedAtMs;
}

function seconds(durationMs: number): string {
  return `${(durationMs / 1_000).toFixed(1)} s`;
}

const directory = mkdtempSync(join(tmpdir(), 'gateway-package-'));
// When this runs as root, the unprivileged account of PostgreSQL needs access.
chmodSync(directory, 0o711);
main(directory)
  .catch((error: unknown) => {
    process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
    process.exitCode = 1;
  })
  .finally(async () => {
    await endChildren();
    rmSync(directory, { recursive: true, force: true });
  });
