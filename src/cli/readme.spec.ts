import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { createProgram } from './program';

/** The words of every command that does something, such as `key create`. */
function namesOf(command: Command, path: readonly string[] = []): string[] {
  return command.commands.flatMap((child) => {
    const words = [...path, child.name()];
    return child.commands.length === 0 ? [words.join(' ')] : namesOf(child, words);
  });
}

/** The commands in the first column, without their options; a row names its group once: `key list`, `disable`. */
function namesIn(readme: string): string[] {
  const rows = readme.split('\n').filter((line) => line.startsWith('| `'));
  return rows.flatMap((row) => {
    const [column = ''] = row.split(' | ', 1);
    const commands = Array.from(column.matchAll(/`([a-z][^`]*)`/g), ([, text = '']) =>
      /^[a-z]+(?:[ -][a-z]+)*/.exec(text),
    );
    const names = commands.map((match) => match?.[0] ?? '');
    const group = names[0]?.split(' ').slice(0, -1) ?? [];
    return names.map((name) => (name.includes(' ') ? name : [...group, name].join(' ')));
  });
}

describe('the README of the command line', () => {
  it('lists every command, and no other', () => {
    const listed = namesIn(readFileSync(join(__dirname, 'README.md'), 'utf8'));
    expect(listed.toSorted()).toEqual(namesOf(createProgram()).toSorted());
  });
});
