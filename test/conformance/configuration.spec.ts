import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { kindOf } from '../../src/core/config/setting-kinds';
import { SETTINGS } from '../../src/core/config/settings';

/** The settings are listed in the code, in `.env.example` and in the README; all three must match. */
const settings = Object.entries(SETTINGS.shape).map(([name, schema]) => ({
  name,
  meaning: schema.description ?? '',
  accepts: kindOf(schema).accepts,
  fallback: schema.parse(undefined),
}));

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

describe('the configuration table of the README', () => {
  it('lists every setting with its default and meaning, in the order of the code', () => {
    const [, section = ''] = read('README.md').split('\n## Configuration\n');
    const [chapter = ''] = section.split('\n## ', 1);
    const rows = chapter.split('\n').filter((line) => line.startsWith('| `'));
    expect(rows.map(cellsOf)).toEqual(
      settings.map(({ name, fallback, meaning }) => [
        `\`${name}\``,
        fallback === null ? '' : `\`${fallback}\``,
        meaning.replaceAll('|', String.raw`\|`),
      ]),
    );
  });
});

function cellsOf(row: string): string[] {
  return row
    .split(/(?<!\\)\|/)
    .slice(1, -1)
    .map((cell) => cell.trim());
}

function read(file: string): string {
  return readFileSync(join(__dirname, '../..', file), 'utf8');
}
