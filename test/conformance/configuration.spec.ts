import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { kindOf } from '../../src/core/config/setting-kinds';
import { OBSERVABILITY_SETTINGS } from '../../src/core/config/observability-settings';
import { PROVIDER_SETTINGS } from '../../src/core/config/provider-settings';
import { SETTINGS } from '../../src/core/config/settings';
import { DOCUMENTED_SUBJECTS, type Subject } from './subjects';

/** The settings are listed in the code, in `.env.example` and in three READMEs, which must match. */
const settings = Object.entries(SETTINGS.shape).map(([name, schema]) => ({
  name,
  meaning: schema.description ?? '',
  accepts: kindOf(schema).accepts,
  fallback: schema.parse(undefined),
}));

const observability = settings.filter(({ name }) => name in OBSERVABILITY_SETTINGS);
const otherSettings = settings.filter(({ name }) => !(name in PROVIDER_SETTINGS) && !(name in OBSERVABILITY_SETTINGS));

describe('.env.example', () => {
  it('lists every setting with its meaning, accepted values and default, in the order of the code', () => {
    const [, ...entries] = read('.env.example').trimEnd().split('\n\n');
    expect(entries).toEqual(
      settings.map(({ name, meaning, accepts, fallback }) =>
        [`# ${meaning}.`, `# Accepts ${accepts}.`, `# ${name}=${fallback ?? ''}`].join('\n'),
      ),
    );
  });
});

describe.each([
  ['README.md', 'Configuration', otherSettings],
  ['src/core/observability/README.md', 'Settings', observability],
])('the table of settings in %s', (file, heading, listed) => {
  it('has its settings with their defaults and meanings, in the order of the code', () => {
    const [, section = ''] = read(file).split(`\n## ${heading}\n`);
    const [chapter = ''] = section.split('\n## ', 1);
    const rows = chapter.split('\n').filter((line) => line.startsWith('| `'));
    expect(rows.map(cellsOf)).toEqual(
      listed.map(({ name, fallback, meaning }) => [
        `\`${name}\``,
        fallback === null ? '' : `\`${fallback}\``,
        meaning.replaceAll('|', String.raw`\|`),
      ]),
    );
  });
});

describe('the table of providers in their README', () => {
  it('lists every provider with its variables and capabilities, in the order of their ids', async () => {
    const [, section = ''] = read('src/providers/README.md').split('\n## Providers\n');
    const [chapter = ''] = section.split('\n## ', 1);
    const rows = chapter.split('\n').filter((line) => line.startsWith('| `'));
    const expected = await Promise.all(DOCUMENTED_SUBJECTS.map((subject) => rowOf(subject)));
    expect(rows.map(cellsOf)).toEqual(expected);
  });

  it('has a setting for every variable of a provider, and a provider for every variable', () => {
    const names = DOCUMENTED_SUBJECTS.flatMap(({ definition }) => definition.credentials);
    expect(Object.keys(PROVIDER_SETTINGS).toSorted()).toEqual(names.toSorted());
  });
});

async function rowOf({ definition, environment }: Subject): Promise<string[]> {
  const provider = definition.create(environment('http://127.0.0.1:9'));
  await provider?.close();
  const offered = Object.entries(provider?.capabilities ?? {}).filter(([, offers]) => offers);
  return [
    `\`${definition.id}\``,
    definition.credentials.map((name) => `\`${name}\``).join(', '),
    offered.map(([capability]) => capability).join(', '),
  ];
}

function cellsOf(row: string): string[] {
  return row
    .split(/(?<!\\)\|/)
    .slice(1, -1)
    .map((cell) => cell.trim());
}

function read(file: string): string {
  return readFileSync(join(__dirname, '../..', file), 'utf8');
}
