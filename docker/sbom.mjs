/**
 * `npm run sbom`: what a release ships, as CycloneDX. `npm sbom --omit dev` leaves out every package that a development
 * package needs too, such as `@nestjs/core`. So this takes the whole list and keeps what the lock file installs in
 * production.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

const OPTIONS = ['--package-lock-only', '--sbom-format', 'cyclonedx', '--sbom-type', 'application'];

const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8'));
const production = new Set(
  Object.entries(packages)
    .filter(([place, { dev = false }]) => place !== '' && !dev)
    .map(([place, { name = place.split('node_modules/').at(-1), version }]) => `${name}@${version}`),
);

const whole = JSON.parse(execFileSync('npm', ['sbom', ...OPTIONS], { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 }));
const components = whole.components.filter(({ name, version }) => production.has(`${name}@${version}`));
const kept = new Set([whole.metadata.component, ...components].map((component) => component['bom-ref']));
const dependencies = whole.dependencies
  .filter(({ ref }) => kept.has(ref))
  .map(({ ref, dependsOn = [] }) => ({ ref, dependsOn: dependsOn.filter((other) => kept.has(other)) }));
process.stdout.write(`${JSON.stringify({ ...whole, components, dependencies }, null, 2)}\n`);
