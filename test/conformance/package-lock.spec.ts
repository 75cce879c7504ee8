import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(__dirname, '../..');

interface LockedPackage {
  readonly version: string;
  readonly dev?: boolean;
  readonly devOptional?: boolean;
  readonly license?: string;
  readonly optionalDependencies?: Record<string, string>;
}

/**
 * Licenses that allow any use of the whole with their notices. MPL-2.0 asks for the source of changed files only, and
 * none is changed.
 */
const PERMITTED_LICENSES = new Set([
  '0BSD',
  'Apache-2.0',
  'BlueOak-1.0.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'ISC',
  'MIT',
  'MIT-0',
  'MPL-2.0',
  'PSF-2.0',
]);

describe('package-lock.json', () => {
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, LockedPackage>;
  };

  it('has a license for every package of production that permits any use, and no copyleft such as the GPL', () => {
    const others = Object.entries(packages).flatMap(([place, { dev, devOptional, license = 'none' }]) =>
      place === '' || dev || devOptional || PERMITTED_LICENSES.has(license) ? [] : [`${place}: ${license}`],
    );
    expect(others).toEqual([]);
  });

  it('has every optional package that its packages reference, so that npm ci accepts it', () => {
    const missing = Object.entries(packages).flatMap(([place, { optionalDependencies = {} }]) =>
      Object.keys(optionalDependencies).filter(
        (name) => !(`node_modules/${name}` in packages) && !(`${place}/node_modules/${name}` in packages),
      ),
    );
    expect(missing).toEqual([]);
  });

  it('leads to an SBOM with every package of production, its license, and no other package', () => {
    const text = execFileSync('node', ['docker/sbom.mjs'], {
      cwd: ROOT,
      encoding: 'utf8',
      maxBuffer: 64 * 1024 * 1024,
    });
    const { components } = JSON.parse(text) as {
      components: { name: string; version: string; licenses?: readonly object[] }[];
    };
    const shipped = Object.entries(packages).flatMap(([place, { dev, version }]) =>
      place === '' || dev ? [] : [`${place.split('node_modules/').at(-1)}@${version}`],
    );
    expect(components.map(({ name, version }) => `${name}@${version}`).toSorted()).toEqual(
      [...new Set(shipped)].toSorted(),
    );
    expect(components.filter(({ licenses = [] }) => licenses.length === 0)).toEqual([]);
  });
});
