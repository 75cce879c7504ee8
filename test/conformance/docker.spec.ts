import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { parseEnv } from 'node:util';
import { CORE_SCHEMA, load, mergeTag } from 'js-yaml';
import { loadConfig } from '../../src/core/config/load-config';
import { PROVIDER_SETTINGS } from '../../src/core/config/provider-settings';
import { SETTINGS } from '../../src/core/config/settings';
import { describeWith, runProgram } from '../harness/external-program';

interface ComposeService {
  readonly image?: string;
  readonly command?: readonly string[];
  readonly ports?: readonly string[];
  readonly init?: boolean;
  readonly cap_drop?: readonly string[];
  readonly security_opt?: readonly string[];
  readonly stop_grace_period?: string;
  readonly shm_size?: string;
  readonly env_file?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly volumes?: readonly string[];
  readonly build?: { readonly target: string };
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly healthcheck?: { readonly test: readonly string[] };
  readonly read_only?: boolean;
}

const ROOT = join(__dirname, '../..');
const FILES = ['compose.yaml', 'compose.observability.yaml', 'compose.archive.yaml', 'compose.try.yaml'] as const;
const compose = FILES.map((file) => read(`docker/${file}`)).join('\n');
const { services } = parse('compose.yaml');
const OURS = ['gateway', 'worker', 'migrate'];
/** What a process may need after its drain: `core/observability`, section Shutdown. */
const SETTLING_MS = 30_000;
/** Where the images of the services listen. */
const LISTENERS = {
  gateway: ['gateway:8080'],
  postgres: ['postgres:5432'],
  valkey: ['valkey:6379'],
  objects: ['objects:8333'],
  prometheus: ['prometheus:9090'],
  alertmanager: ['alertmanager:9093'],
  'otel-collector': ['otel-collector:4318'],
  jaeger: ['jaeger:4317', 'jaeger:16686'],
};
const example = read('docker/.env.example');
const instructions = read('docker/Dockerfile')
  .replaceAll('\\\n', ' ')
  .split('\n')
  .filter((line) => /^[A-Z]+ /.test(line));

/** Plausible values of everything that `docker/.env.example` leaves to the operator. */
const filledIn = {
  ...Object.fromEntries(Object.keys(parseEnv(example)).map((name) => [name, '0123456789abcdef'.repeat(4)])),
  PUBLIC_BASE_URL: 'http://localhost:8080',
  S3_PUBLIC_ENDPOINT: 'http://localhost:8333',
};

const gatewayConfig = loadConfig({ ...interpolate(services.gateway?.environment ?? {}), ...imageEnvironment() });

describe('docker/compose*.yaml', () => {
  it.each(OURS)('gives %s only existing settings and a configuration that loads', (name) => {
    const environment = interpolate(services[name]?.environment ?? {});
    const known = new Set(Object.keys(SETTINGS.shape));
    expect(Object.keys(environment).filter((variable) => !known.has(variable))).toEqual([]);
    const config = loadConfig({ ...environment, ...imageEnvironment() });
    expect(config).toMatchObject({ production: true, storage: { backend: { type: 's3' } } });
    expect(config.worker.inline).toBe(name !== 'gateway');
    expect(config.migrateOnStart).toBe(false);
  });

  it.each(['gateway', 'worker'])('gives the %s every variable of a provider that .env contains', (name) => {
    const { env_file: files, environment = {} } = services[name] ?? {};
    expect(files).toEqual(['.env']);
    const variables = Object.keys(PROVIDER_SETTINGS);
    const env = Object.fromEntries(
      variables.map((variable) => [variable, variable.endsWith('_URL') ? 'https://upstream.example' : 'a-key']),
    );
    const { providers } = loadConfig({ ...env, ...interpolate(environment), ...imageEnvironment() });
    expect(Object.keys(providers)).toEqual(expect.arrayContaining(variables));
  });

  it('documents in docker/.env.example what it reads, and beside it only settings', () => {
    const explained = [...example.matchAll(/^(?:# )?([A-Z0-9_]+)=/gm)].map(([, name]) => name);
    const used = new Set([...compose.matchAll(/\$\{([A-Z0-9_]+)/g)].map(([, name]) => name));
    expect(explained).toEqual(expect.arrayContaining([...used]));
    expect(explained.filter((name = '') => !used.has(name) && !(name in SETTINGS.shape))).toEqual([]);
  });

  it('requires every secret and public address, so that a start without one fails and names it', () => {
    const used = [...compose.matchAll(/\$\{([A-Z0-9_]+)([^}]*)\}/g)].map(([, name = '', rest]) => ({ name, rest }));
    const isPort = (name: string): boolean => name.endsWith('_PORT');
    expect(used.filter(({ name, rest }) => (isPort(name) ? !rest?.startsWith(':-') : rest !== ':?'))).toEqual([]);
  });

  it.each(FILES)('%s waits only for services with a health check, and for the end of the migration', (file) => {
    const all = parse(file).services;
    const waitedFor = Object.values(all).flatMap(({ depends_on }) => Object.entries(depends_on ?? {}));
    for (const [name, { condition }] of waitedFor) {
      const isOneShot = name === 'migrate';
      const expected = isOneShot ? 'service_completed_successfully' : 'service_healthy';
      const isChecked = all[name]?.healthcheck !== undefined;
      expect([name, condition, isChecked || isOneShot]).toEqual([name, expected, true]);
    }
  });

  it.each(['gateway', 'worker'])('stops the %s no earlier than it needs, and asks it whether it serves', (name) => {
    const { stop_grace_period: grace = '', healthcheck, environment = {} } = services[name] ?? {};
    const { management, http } = loadConfig({ ...interpolate(environment), ...imageEnvironment() });
    const neededMs = http.shutdownDelayMs + http.drainTimeoutMs + SETTLING_MS;
    expect(Number(grace.replace(/s$/, '')) * 1_000).toBeGreaterThanOrEqual(neededMs);
    expect(healthcheck?.test.join(' ')).toContain(`http://127.0.0.1:${management.port}/serving`);
  });

  it('keeps what PostgreSQL and the objects hold, and lets Valkey evict nothing and write nothing to disk', () => {
    const volumesOf = (name: string) => services[name]?.volumes?.map((volume) => volume.split(':')[0]);
    expect([volumesOf('postgres'), volumesOf('objects'), volumesOf('valkey')]).toEqual([
      ['postgres'],
      ['objects'],
      undefined,
    ]);
    expect(services.postgres?.shm_size).toBe('256m');
    const { command = [] } = services.valkey ?? {};
    const valueOf = (option: string): string | undefined => command[command.indexOf(option) + 1];
    expect(['--save', '--appendonly', '--maxmemory-policy'].map(valueOf)).toEqual(['', 'no', 'noeviction']);
    expect(valueOf('--requirepass')).toBe('${REDIS_PASSWORD:?}');
  });

  it.each(FILES)(
    '%s takes images of one version, and publishes on the loopback interface all but the proxy',
    (file) => {
      const all = Object.entries(parse(file).services);
      const images = all.flatMap(([, { image, build }]) => (image === undefined || build ? [] : [image]));
      expect(images.filter((image) => !/:v?\d[\w.]*$/.test(image))).toEqual([]);
      const published = all.flatMap(([name, { ports = [] }]) => (name === 'proxy' ? [] : ports));
      expect(published.filter((port) => !port.startsWith('127.0.0.1:'))).toEqual([]);
    },
  );

  it('names only services that Compose starts, at ports on which they listen', () => {
    const files = [
      'docker/compose.yaml',
      'docker/compose.observability.yaml',
      'docker/proxy/Caddyfile',
      'docker/prometheus/prometheus.yml',
      'docker/otel-collector/config.yaml',
      'docker/grafana/provisioning/datasources/prometheus.yaml',
    ];
    const text = files.map((file) => read(file).replaceAll(/^\s*#.*$/gm, '')).join('\n');
    const all = Object.keys({ ...services, ...parse('compose.observability.yaml').services });
    const hosts = [...text.matchAll(/(?:\/\/|@|endpoint: |'|reverse_proxy |dynamic a )([a-z][a-z-]*)[: ](\d{4,5})\b/g)]
      .map(([, host, port]) => `${host}:${port}`)
      .filter((address) => !address.startsWith('localhost:'));
    expect(new Set(hosts)).toEqual(new Set(Object.values(LISTENERS).flat()));
    expect(all).toEqual(expect.arrayContaining(Object.keys(LISTENERS)));
    const scraped = [...text.matchAll(/names: \[(\w+)\], type: A, port: (\d+)/g)].map(([, ...found]) => found);
    expect(scraped).toEqual(['gateway', 'worker'].map((name) => [name, String(gatewayConfig.management.port)]));
  });

  it('lets the proxy wait longer than the gateway does, and pass on every event at once', () => {
    const caddyfile = read('docker/proxy/Caddyfile');
    for (const name of ['response_header_timeout', 'read_timeout']) {
      const [, seconds] = new RegExp(`\\s${name} (\\d+)s`).exec(caddyfile) ?? [];
      expect([name, Number(seconds) * 1_000 > gatewayConfig.inference.totalTimeoutMs]).toEqual([name, true]);
    }
    expect(caddyfile).toContain('flush_interval -1');
    expect(caddyfile).toContain(`dynamic a gateway ${gatewayConfig.http.port}`);
  });

  // The program of Compose 2 and later, as `go install` or a release makes it; it needs no Docker.
  describeWith('docker-compose', () => {
    const sets = [
      ['compose.yaml'],
      ['compose.yaml', 'compose.observability.yaml', 'compose.archive.yaml'],
      ['compose.try.yaml'],
    ];
    const config = (files: readonly string[], environment: NodeJS.ProcessEnv): void => {
      // `.env` beside the files would hide what is missing.
      const directory = mkdtempSync(join(tmpdir(), 'compose-'));
      cpSync(join(ROOT, 'docker'), directory, { recursive: true, filter: (path) => basename(path) !== '.env' });
      writeFileSync(join(directory, '.env'), '');
      const args = files.flatMap((file) => ['--file', join(directory, file)]);
      try {
        runProgram('docker-compose', [...args, 'config', '--quiet'], environment);
      } finally {
        rmSync(directory, { recursive: true });
      }
    };

    it.each(sets)('accepts %s', (...files) => {
      expect(() => config(files, filledIn)).not.toThrow();
    });

    it('refuses to start without a required value, and names it', () => {
      const files = sets[1] ?? [];
      const required = new Set([...compose.matchAll(/\$\{([A-Z0-9_]+):\?\}/g)].map(([, name = '']) => name));
      expect(required.size).toBe(9);
      for (const name of required) {
        const rest = Object.fromEntries(Object.entries(filledIn).filter(([other]) => other !== name));
        expect(() => config(files, rest)).toThrow(name);
      }
    });
  });

  it.each(FILES)('%s mounts files that exist and builds targets that the Dockerfile has', (file) => {
    const all = Object.values(parse(file).services);
    const mounted = all.flatMap(({ volumes }) => volumes ?? []).map((volume) => volume.split(':')[0] ?? '');
    const missing = mounted.filter((path) => path.startsWith('./') && !existsSync(join(ROOT, 'docker', path)));
    expect(missing).toEqual([]);
    const targets = all.flatMap(({ build }) => (build === undefined ? [] : [build.target]));
    expect(targets.filter((target) => !instructions.some((line) => line.endsWith(` AS ${target}`)))).toEqual([]);
  });

  it.each(FILES)('%s gives its gateway only existing settings', (file) => {
    const environment = Object.keys(parse(file).services.gateway?.environment ?? {});
    expect(environment.filter((variable) => !(variable in SETTINGS.shape))).toEqual([]);
  });

  describeWith('caddy', () => {
    it('gives the proxy a configuration that caddy accepts', () => {
      const { PUBLIC_BASE_URL, S3_PUBLIC_ENDPOINT } = filledIn;
      const args = ['validate', '--adapter', 'caddyfile', '--config', join(ROOT, 'docker/proxy/Caddyfile')];
      expect(() => runProgram('caddy', args, { PUBLIC_BASE_URL, S3_PUBLIC_ENDPOINT })).not.toThrow();
    });
  });
});

describe('docker/Dockerfile', () => {
  describeWith('hadolint', () => {
    it('has nothing that hadolint warns of', () => {
      expect(() => runProgram('hadolint', [join(ROOT, 'docker/Dockerfile')])).not.toThrow();
    });
  });

  it('copies files that exist and starts entry points that the build makes', () => {
    const copied = instructions
      .filter((line) => line.startsWith('COPY ') && !line.includes('--from='))
      .flatMap((line) => line.split(/\s+/).slice(1, -1));
    expect(copied.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
    const command = JSON.parse(last('CMD')) as string[];
    const started = [...command, ...(services.worker?.command ?? []), services.migrate?.command?.[0] ?? ''];
    const sources = started.map((path) => path.replace(/^dist\//, '').replace(/\.js$/, '.ts'));
    expect(sources).toEqual(['src/main.ts', 'src/worker.ts', 'src/cli/main.ts']);
    expect(sources.every((path) => existsSync(join(ROOT, path)))).toBe(true);
  });

  it('runs as an unprivileged user on a read-only root file system, without capabilities', () => {
    expect(last('USER')).toBe('65532:65532');
    for (const name of OURS) {
      expect(services[name]).toMatchObject({
        read_only: true,
        init: true,
        cap_drop: ['ALL'],
        security_opt: ['no-new-privileges:true'],
      });
    }
  });
});

describe('a release', () => {
  it('has one version, in the package, in the chart and in the notes of changes', () => {
    const { version } = JSON.parse(read('package.json')) as { version: string };
    const chart = load(read('docker/helm/inference-gateway/Chart.yaml')) as { version: string; appVersion: string };
    const [, noted] = /^## (\S+?),? /m.exec(read('docker/CHANGES.md')) ?? [];
    expect([chart.version, chart.appVersion, noted]).toEqual([version, version, version]);
  });
});

function last(instruction: string): string {
  const line = instructions.findLast((candidate) => candidate.startsWith(`${instruction} `)) ?? '';
  return line.slice(instruction.length + 1);
}

/** Of the last stage and the one below it; `try` lies between them. */
function imageEnvironment(): Record<string, string> {
  const stages = instructions.join('\n').split(/^(?=FROM )/m);
  const ours = stages.filter((stage) => / AS (runtime|gateway)\n/.test(stage)).join('\n');
  const pairs = [...ours.matchAll(/^ENV (.+)$/gm)].flatMap(([, line = '']) => line.split(' '));
  return Object.fromEntries(pairs.map((pair) => pair.replace('${REVISION}', 'unknown').split('=', 2))) as Record<
    string,
    string
  >;
}

function parse(file: (typeof FILES)[number]): { services: Record<string, ComposeService> } {
  return load(read(`docker/${file}`), { schema: CORE_SCHEMA.withTags(mergeTag) }) as {
    services: Record<string, ComposeService>;
  };
}

/** As Compose replaces `${NAME:?}` and `${NAME:-default}`. */
function interpolate(environment: Readonly<Record<string, string>>): Record<string, string> {
  const values: Readonly<Record<string, string>> = filledIn;
  return Object.fromEntries(
    Object.entries(environment).map(([name, text]) => [
      name,
      text.replaceAll(/\$\{([A-Z0-9_]+):([?-])([^}]*)\}/g, (_, variable: string, kind: string, fallback: string) => {
        return values[variable] ?? (kind === '-' ? fallback : '');
      }),
    ]),
  );
}

function read(file: string): string {
  return readFileSync(join(ROOT, file), 'utf8');
}
