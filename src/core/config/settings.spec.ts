import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { SETTINGS } from './settings';

describe('.env.example', () => {
  it('lists every variable with its default, and no other', () => {
    const lines = readFileSync(resolve(__dirname, '../../../.env.example'), 'utf8').split('\n');
    const listed = lines.flatMap((line) => /^# ([A-Z0-9_]+)=(.*)$/.exec(line)?.slice(1, 3).join('=') ?? []);
    const known = Object.values(SETTINGS).map(({ name, fallback }) => `${name}=${fallback ?? ''}`);
    expect(listed).toEqual(known);
  });
});
