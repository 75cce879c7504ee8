import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { GUARDS, INTERCEPTORS } from './request-path';

/** The stages in the README's table, with the class that each row names. */
const rows = Array.from(
  readFileSync(join(__dirname, 'README.md'), 'utf8').matchAll(/^\| (?<stage>[a-z ]+?) +\| `(?<name>\w+)`/gm),
  ({ groups }) => ({ stage: groups?.['stage'] ?? '', name: groups?.['name'] }),
);
const namesAt = (...stages: readonly string[]) =>
  rows.filter(({ stage }) => stages.includes(stage)).map(({ name }) => name);
const namesOf = (types: readonly { readonly name: string }[]) => types.map(({ name }) => name);

describe('the table of the request path', () => {
  it('lists the guards of each kind of route, in order', () => {
    expect(namesAt('key guard')).toEqual(namesOf(GUARDS.key));
    expect(namesAt('session guard')).toEqual(namesOf(GUARDS.session));
    expect(namesAt('guard')).toEqual(namesOf(GUARDS.public));
  });

  it('lists the interceptors, in order', () => {
    expect(namesAt('interceptor')).toEqual(namesOf(INTERCEPTORS));
  });
});
