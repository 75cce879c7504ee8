import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isRunning } from '../../src/core/embedded/process-control';
import type { ServicesState } from '../../src/core/embedded/services-file';
import { endChildren } from '../harness/child-process';
import { createDataDirectory, GatewayProcess, runCommand } from '../harness/gateway-process';
import { chatBody, ChatLoad, chatUntilServed, type Exchange, summarize } from './chat-load';
import { allowedMs, report, until } from './figures';

const FIRST_START_WITHIN_MS = allowedMs(15_000);
const START_WITHIN_MS = allowedMs(5_000);

describe('a gateway with embedded servers', () => {
  const directory = createDataDirectory();
  const dataDir = join(directory.path, 'data');

  let firstReadyMs: number;

  beforeAll(async () => {
    const gateway = GatewayProcess.launch({ dataDir });
    firstReadyMs = await gateway.ready();
    await gateway.stop();
  });
  afterEach(endChildren);
  afterAll(() => directory.remove());

  async function start(): Promise<GatewayProcess> {
    const gateway = GatewayProcess.launch({ dataDir });
    const readyMs = await gateway.ready();
    report('embedded, start', { readyMs: Math.round(readyMs) });
    expect(readyMs).toBeLessThan(START_WITHIN_MS);
    return gateway;
  }

  function demoKey({ log }: GatewayProcess): string {
    return /Demo API key: (sk-llm-\S+)/.exec(log)?.[1] ?? 'none was printed';
  }

  function ask(gateway: GatewayProcess, key = demoKey(gateway)): Promise<Exchange> {
    return chatUntilServed({ url: gateway.url, key, body: chatBody('delay=0') });
  }

  async function expectSoundBooks(): Promise<void> {
    const { code, output } = await runCommand({ dataDir }, 'ledger', 'verify', '--json');
    expect(JSON.parse(output)).toEqual({ ok: true, violations: [] });
    expect(code).toBe(0);
  }

  it('is ready soon after its first start (15 s on an idle machine)', () => {
    report('embedded, first start', { readyMs: Math.round(firstReadyMs) });
    expect(firstReadyMs).toBeLessThan(FIRST_START_WITHIN_MS);
  });

  it.each(['SIGTERM', 'SIGINT'] as const)('leaves no process behind on %s, and keeps data and key', async (signal) => {
    const gateway = await start();
    const key = demoKey(gateway);
    expect(summarize([await ask(gateway)])).toEqual({ complete: 1 });
    const servers = serversOf(dataDir);
    expect(servers.length).toBeGreaterThan(4);

    expect(await gateway.stop(signal)).toEqual({ code: 0, signal: null });
    expect(servers.filter(isRunning)).toEqual([]);

    const next = await start();
    expect(demoKey(next)).toBe(key);
    expect(summarize([await ask(next)])).toEqual({ complete: 1 });
  });

  it('leaves no process behind when it is stopped during startup', async () => {
    const gateway = GatewayProcess.launch({ dataDir });
    await until('the start of PostgreSQL', 10_000, () => readState(dataDir)?.postgresPid != null);
    const servers = serversOf(dataDir);
    expect(await gateway.stop()).toEqual({ code: 0, signal: null });
    expect(servers.filter(isRunning)).toEqual([]);
  });

  it('leaves no server behind after kill -9 of the gateway, without another start', async () => {
    const gateway = await start();
    const servers = serversOf(dataDir);
    expect(servers.length).toBeGreaterThan(4);
    await gateway.kill();
    const endedMs = await until('the end of the servers', 10_000, () => servers.filter(isRunning).length === 0);
    report('embedded, servers end after kill -9', { endedMs: Math.round(endedMs) });
  });

  it.each(['of the gateway alone', 'of everything'])(
    'serves again after kill -9 %s, with a valid ledger',
    async (what) => {
      const gateway = await start();
      const servers = serversOf(dataDir);
      const key = demoKey(gateway);
      const body = chatBody('chunks=20 delay=10ms', { stream: true });
      const load = new ChatLoad(16, () => ({ url: gateway.url, key, body }));
      await until('an answer', 15_000, () => load.exchanges.some(({ outcome }) => outcome === 'complete'));
      if (what === 'of everything') {
        for (const pid of [gateway.child.pid, ...servers]) process.kill(pid, 'SIGKILL');
      }
      await gateway.kill();
      await load.stop();

      const next = await start();

      expect(demoKey(next)).toBe(key);
      expect(summarize([await ask(next)])).toEqual({ complete: 1 });
      expect(servers.filter(isRunning)).toEqual([]);
      await expectSoundBooks();
    },
  );

  it('runs beside another gateway with a separate data directory and port', async () => {
    const otherDirectory = createDataDirectory();
    try {
      const [gateway, other] = await Promise.all([
        start(),
        GatewayProcess.start({ dataDir: join(otherDirectory.path, 'data') }),
      ]);
      const exchanges = await Promise.all([ask(gateway), ask(other), ask(gateway, demoKey(other))]);
      expect(exchanges.map((exchange) => summarize([exchange]))).toEqual([
        { complete: 1 },
        { complete: 1 },
        { '401 invalid_api_key': 1 },
      ]);
      await endChildren();
    } finally {
      otherDirectory.remove();
    }
  });
});

function readState(dataDir: string): ServicesState | null {
  try {
    return JSON.parse(readFileSync(join(dataDir, 'services.json'), 'utf8'));
  } catch {
    return null;
  }
}

/** The embedded Redis, and PostgreSQL with all its processes. */
function serversOf(dataDir: string): number[] {
  const state = readState(dataDir);
  const roots = [state?.postgresPid, state?.redisPid].filter((pid) => pid != null);
  const processes = execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' })
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number));
  const children = processes.flatMap(([pid = 0, parentPid = 0]) => (roots.includes(parentPid) ? [pid] : []));
  return [...roots, ...children];
}
