/** Bodies of completions and embeddings, good ones and bad ones, in places where the derived ones do not reach. */
const prompts = ['', 'text', ['text'], ['a', 'b'], [], [''], [1], [1, 2], [[1]], [[1], [2]], [[]], [null], [['a']], {}];
const MANY = 2_048;

const inputs = [
  '',
  'text',
  ['a', 'b'],
  ['a', ''],
  ['a', 1],
  [1, 'a'],
  [0, 1],
  [1, -1],
  [1, 1.5],
  [[1], [2, 3]],
  [[1], []],
  [[1], 'a'],
  [[1], ['a']],
  [[1, -1]],
  [[[1]]],
  [null],
  [],
  [[]],
  {},
  Array(MANY).fill('a'),
  Array(MANY + 1).fill('a'),
  Array(MANY).fill(7),
  Array(MANY + 1).fill(7),
  Array.from({ length: MANY }, () => [7]),
  Array.from({ length: MANY + 1 }, () => [7]),
  [Array(MANY + 1).fill(7)],
];

export const COMPLETION_BODIES: readonly unknown[] = prompts.map((prompt) => ({ model: 'mock/chat-1', prompt }));
export const EMBEDDING_BODIES: readonly unknown[] = inputs.map((input) => ({ model: 'mock/embed-1', input }));
