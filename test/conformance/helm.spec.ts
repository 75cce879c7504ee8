import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { loadAll } from 'js-yaml';
import { kindOf } from '../../src/core/config/setting-kinds';
import { SETTINGS } from '../../src/core/config/settings';
import { describeWith, runProgram } from '../harness/external-program';

interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec?: { readonly template?: { readonly spec: PodSpec } };
}

interface PodSpec {
  readonly terminationGracePeriodSeconds?: number;
  readonly containers: readonly { readonly env: readonly { readonly name: string; readonly value: string }[] }[];
}

const ROOT = join(__dirname, '../..');
const CHART = join(ROOT, 'docker/helm/inference-gateway');
const VALUE_SETS = globSync('test/conformance/helm/*.yaml', { cwd: ROOT }).toSorted();
const KUBERNETES = ['1.29', '1.37'];
describe('docker/helm/inference-gateway', () => {
  it('refuses in config every setting whose value is a secret', () => {
    const secrets = Object.entries(SETTINGS.shape).filter(([, schema]) => kindOf(schema).secret);
    expect(secrets.map(([name]) => name).filter((name) => !isRefusedInConfig(name))).toEqual([]);
  });

  describeWith('helm', () => {
    it('passes helm lint --strict with every set of values', () => {
      const lint = (values: string) => runProgram('helm', ['lint', '--strict', CHART, '--values', join(ROOT, values)]);
      expect(() => VALUE_SETS.forEach(lint)).not.toThrow();
    });

    it('renders named objects with existing settings for the oldest and the newest Kubernetes', () => {
      for (const version of KUBERNETES) {
        for (const values of VALUE_SETS) {
          const manifests = render(['--kube-version', version, '--values', join(ROOT, values)]);
          const names = manifests.map(({ apiVersion, kind, metadata }) => `${apiVersion} ${kind} ${metadata.name}`);
          expect(new Set(names).size).toBe(manifests.length);
          const variables = variablesOf(manifests);
          const unknown = variables.filter(({ name }) => name !== 'NODE_OPTIONS' && !(name in SETTINGS.shape));
          expect(unknown).toEqual([]);
          expect(variables.filter(({ value }) => typeof value !== 'string')).toEqual([]);
        }
      }
    });

    // From PyPI; its schemas are those of Kubernetes itself.
    describeWith('kubernetes-validate', () => {
      it.each(KUBERNETES)('renders objects that are valid for Kubernetes %s, without unknown fields', (version) => {
        const directory = mkdtempSync(join(tmpdir(), 'chart-'));
        const files = VALUE_SETS.map((values) => {
          const file = join(directory, basename(values));
          writeFileSync(
            file,
            runProgram('helm', template(['--kube-version', version, '--values', join(ROOT, values)])),
          );
          return file;
        });
        expect(() => runProgram('kubernetes-validate', ['--strict', '-k', version, ...files])).not.toThrow();
        rmSync(directory, { recursive: true });
      });
    });

    it('gives pods longer than the delay and the drain before they are killed', () => {
      const [minimal = '', longest = ''] = ['minimal', 'no-policies'].map(
        (name) => `test/conformance/helm/${name}.yaml`,
      );
      expect(gracePeriods(minimal)).toEqual([335, 335]);
      expect(gracePeriods(longest)).toEqual([1_235, 1_235]);
    });

    it('accepts in config every setting that is no secret and that the chart does not set itself', () => {
      const accepted = Object.keys(SETTINGS.shape).filter((name) => !isRefusedInConfig(name));
      const args = accepted.flatMap((name) => ['--set-string', `config.${name}=value-of-${name}`]);
      const manifests = render(['--set', 'secrets.existingSecret=s', ...args]);
      const given = new Set(variablesOf(manifests).map(({ value }) => value));
      expect(accepted.filter((name) => !given.has(`value-of-${name}`))).toEqual([]);
    });

    it('writes large numbers of config as whole numbers', () => {
      const manifests = render(['--values', join(ROOT, 'test/conformance/helm/everything.yaml')]);
      const variables = variablesOf(manifests);
      const large = variables.filter(({ name }) => name === 'MAX_BUFFERED_BYTES').map(({ value }) => value);
      expect(new Set(large)).toEqual(new Set(['268435456']));
    });

    it('keeps a wildcard as the host of the ingress', () => {
      const manifests = render(['--values', join(ROOT, 'test/conformance/helm/everything.yaml')]);
      const { spec } = manifests.find(({ kind }) => kind === 'Ingress') ?? {};
      expect(spec).toMatchObject({ rules: [{ host: '*.example.com' }], tls: [{ hosts: ['*.example.com'] }] });
    });

    it.each([
      ['without a secret', []],
      ['with an unknown setting', ['--set', 'secrets.existingSecret=s,config.NO_SUCH_SETTING=1']],
      ['with a secret in config', ['--set', 'secrets.existingSecret=s,config.API_KEY_PEPPER=x']],
      ['with an unknown value', ['--set', 'secrets.existingSecret=s,gateway.replica=1']],
      ['with KEDA and no Prometheus', ['--set', 'secrets.existingSecret=s,gateway.autoscaling.type=keda']],
    ])('refuses to render %s', (_case, args) => {
      expect(() => render(args)).toThrow(/existingSecret|NO_SUCH_SETTING|API_KEY_PEPPER|replica|prometheusUrl/);
    });
  });
});

function isRefusedInConfig(name: string): boolean {
  const schema = JSON.parse(readFileSync(join(CHART, 'values.schema.json'), 'utf8')) as {
    properties: { config: { propertyNames: { not: { anyOf: readonly { pattern?: string; enum?: string[] }[] } } } };
  };
  const refused = schema.properties.config.propertyNames.not.anyOf;
  return refused.some(({ pattern, enum: names }) => names?.includes(name) ?? new RegExp(pattern ?? '').test(name));
}

function variablesOf(manifests: readonly Manifest[]): readonly { readonly name: string; readonly value: string }[] {
  return manifests.flatMap(({ spec }) => spec?.template?.spec.containers[0]?.env ?? []);
}

function gracePeriods(values: string): number[] {
  return render(['--values', join(ROOT, values)]).flatMap(
    ({ spec }) => spec?.template?.spec.terminationGracePeriodSeconds ?? [],
  );
}

function render(args: readonly string[]): Manifest[] {
  const version = args.includes('--kube-version') ? [] : ['--kube-version', '1.29'];
  const output = runProgram('helm', template([...version, ...args]));
  return (loadAll(output) as (Manifest | null)[]).filter((manifest) => manifest !== null);
}

function template(args: readonly string[]): readonly string[] {
  return ['template', 'release', CHART, ...args];
}
