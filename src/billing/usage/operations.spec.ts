import { readdirSync, readFileSync } from 'node:fs';
import { OPERATIONS, operationsOf } from './operations';

it('lists every operation that can be charged', () => {
  const charged = readdirSync('openapi/paths')
    .filter((file) => file.startsWith('create-'))
    .map((file) => /^operationId: (\w+)$/m.exec(readFileSync(`openapi/paths/${file}`, 'utf8'))?.[1]);
  expect(charged.toSorted()).toEqual(OPERATIONS.toSorted());
});

it("filters by the contract's groups of modalities and by the finer ones", () => {
  expect(operationsOf('text')).toEqual([
    'createChatCompletion',
    'createCompletion',
    'createResponse',
    'createEmbedding',
  ]);
  expect(operationsOf('audio')).toEqual(['createSpeech', 'createTranscription']);
  expect(operationsOf('embedding')).toEqual(['createEmbedding']);
});
