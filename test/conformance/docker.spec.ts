import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { CORE_SCHEMA, load, mergeTag } from 'js-yaml';
import { loadConfig } from '../../src/core/config/load-config';
import { PROVIDER_SETTINGS } from '../../src/core/config/provider-settings';
import { SETTINGS } from '../../src/core/config/settings';
import { describeWith, runProgram } from '../harness/external-program';

interface ComposeService {
  readonly command?: readonly string[];
  readonly env_file?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly volumes?: readonly string[];
  readonly build?: { readonly target: string };
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly healthcheck?: unknown;
  readonly read_only?: boolean;
}

const ROOT = join(__dirname, '../..');
const FILES = ['compose.yaml', 'compose.observability.yaml', 'compose.try.yaml'] as const;
const compose = FILES.map((file) => read(`docker/${file}`)).join('\n');
const { services } = parse('compose.yaml');
const OURS = ['gateway', 'worker', 'migrate'];
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

  it('runs as an unprivileged user on a read-only root file system', () => {
    expect(last('USER')).toBe('65532:65532');
    expect(OURS.map((name) => services[name]?.read_only)).toEqual([true, true, true]);
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
