import { readdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { ENTITIES } from './entities';

describe('the list of entities', () => {
  it('has one class per file of the folder, with the same name', () => {
    const files = readdirSync(resolve(__dirname, 'entities')).filter((file) => file.endsWith('.entity.ts'));
    expect(ENTITIES.map((entity) => entity.name).toSorted()).toEqual(files.map(classNameOf).toSorted());
  });
});

/** `api-key.entity.ts` holds `ApiKeyEntity`. */
function classNameOf(file: string): string {
  const words = file.replace(/\.ts$/, '').split(/[-.]/);
  return words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('');
}
