import { readdirSync, readFileSync } from 'node:fs';
import { OPERATIONS } from './operations';

it('knows every operation that a request can be charged for', () => {
  const charged = readdirSync('openapi/paths')
    .filter((file) => file.startsWith('create-'))
    .map((file) => /^operationId: (\w+)$/m.exec(readFileSync(`openapi/paths/${file}`, 'utf8'))?.[1]);
  expect(charged.toSorted()).toEqual(OPERATIONS.toSorted());
});
