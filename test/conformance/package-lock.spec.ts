import { readFileSync } from 'node:fs';
import { join } from 'node:path';

describe('package-lock.json', () => {
  it('has every optional package that its packages reference, so that npm ci accepts it', () => {
    const { packages } = JSON.parse(readFileSync(join(__dirname, '../../package-lock.json'), 'utf8')) as {
      packages: Record<string, { optionalDependencies?: Record<string, string> }>;
    };
    const missing = Object.entries(packages).flatMap(([place, { optionalDependencies = {} }]) =>
      Object.keys(optionalDependencies).filter(
        (name) => !(`node_modules/${name}` in packages) && !(`${place}/node_modules/${name}` in packages),
      ),
    );
    expect(missing).toEqual([]);
  });
});
