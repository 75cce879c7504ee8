import { keySearchOf } from './key-search';

const KEY = `sk-llm-aBcD${'0'.repeat(30)}wXyZ`;

it.each([
  ['  batch job ', 'batch job'],
  [KEY, 'sk-llm-aBcD…wXyZ'],
  [`Authorization: Bearer ${KEY}`, 'Authorization: Bearer sk-llm-aBcD…wXyZ'],
  [KEY.slice(0, 30), 'sk-llm-aBcD'],
  ['sk-llm-aBcD…wXyZ', 'sk-llm-aBcD…wXyZ'],
  ['Task-llm-aBcD0', 'Task-llm-aBcD0'],
  ['a\tb\u0000c', 'a b c'],
  ['\ud83d', undefined],
  ['', undefined],
  ['x'.repeat(200), 'x'.repeat(200)],
  ['x'.repeat(201), undefined],
])('searches for %j as %j', (text, search) => {
  expect(keySearchOf(text)).toBe(search);
});
