import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { CORE_SCHEMA, load, mergeTag } from 'js-yaml';
import { loadConfig } from '../../src/core/config/load-config';
import { PROVIDER_SETTINGS } from '../../src/core/config/provider-settings';
import { SETTINGS } from '../../src/core/config/settings';

interface ComposeService {
  readonly command?: readonly string[];
  readonly env_file?: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly healthcheck?: unknown;
  readonly read_only?: boolean;
}

const compose = read('docker/compose.yaml');
const { services } = load(compose, { schema: CORE_SCHEMA.withTags(mergeTag) }) as {
  services: Record<string, ComposeService>;
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

describe('docker/compose.yaml', () => {
  it.each(['gateway', 'worker'])('gives the %s only existing settings and a configuration that loads', (name) => {
    const environment = interpolate(services[name]?.environment ?? {});
    const known = new Set(Object.keys(SETTINGS.shape));
    expect(Object.keys(environment).filter((variable) => !known.has(variable))).toEqual([]);
    const config = loadConfig({ ...environment, ...imageEnvironment() });
    expect(config).toMatchObject({ production: true, storage: { backend: { type: 's3' } } });
    expect(config.worker.inline).toBe(name === 'worker');
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

  it('requires every secret: none has a default', () => {
    const optional = [...compose.matchAll(/\$\{([A-Z0-9_]+):-/g)].map(([, name]) => name);
    expect(optional.filter((name) => /PASSWORD|SECRET|PEPPER|ACCESS_KEY_ID/.test(name ?? ''))).toEqual([]);
  });

  it('waits only for services with a health check', () => {
    const waitedFor = Object.values(services).flatMap(({ depends_on }) => Object.entries(depends_on ?? {}));
    expect(waitedFor).not.toEqual([]);
    for (const [name, { condition }] of waitedFor) {
      expect(condition).toBe('service_healthy');
      expect(services[name]?.healthcheck).toBeDefined();
    }
  });
});

describe('docker/Dockerfile', () => {
  it('copies files that exist and starts entry points that the build makes', () => {
    const copied = instructions
      .filter((line) => line.startsWith('COPY ') && !line.includes('--from='))
      .flatMap((line) => line.split(/\s+/).slice(1, -1));
    expect(copied.filter((path) => !existsSync(join(__dirname, '../..', path)))).toEqual([]);
    const command = JSON.parse(last('CMD')) as string[];
    const started = [...command, ...(services.worker?.command ?? [])];
    const sources = started.map((path) => path.replace(/^dist\//, '').replace(/\.js$/, '.ts'));
    expect(sources).toEqual(['src/main.ts', 'src/worker.ts']);
    expect(sources.every((path) => existsSync(join(__dirname, '../..', path)))).toBe(true);
  });

  it('runs as an unprivileged user on a read-only root file system', () => {
    expect(last('USER')).toBe('65532:65532');
    expect([services.gateway?.read_only, services.worker?.read_only]).toEqual([true, true]);
  });
});

function last(instruction: string): string {
  const line = instructions.findLast((candidate) => candidate.startsWith(`${instruction} `)) ?? '';
  return line.slice(instruction.length + 1);
}

function imageEnvironment(): Record<string, string> {
  return Object.fromEntries(
    last('ENV')
      .split(' ')
      .map((pair) => pair.split('=', 2)),
  ) as Record<string, string>;
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
  return readFileSync(join(__dirname, '../..', file), 'utf8');
}
