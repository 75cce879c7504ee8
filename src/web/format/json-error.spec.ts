import { jsonErrorLine } from './json-error';

it.each([
  ['{\n "a": 1,\n}', 3],
  ['{\n"a": x\n}', 2],
  ['{\n "a": [\n  {"b": "c"}\n "d"]\n}', 4],
  ['{\n"a": [1,\n2', 3],
  ['{\n"a":\n tru }', 3],
  ['{\n "a": "x\ny" }', 2],
  ['[1,2]\n\nx', 3],
  ['{\n}\n}', 3],
  ["{\n'a': 1}", 2],
  ['{"a" 1}', 1],
  ['{"a": 01}', 1],
  ['', 1],
  ['{\n\n', 1],
])('the mistake in %j is in line %i', (text, line) => {
  expect(jsonErrorLine(text)).toBe(line);
});

it.each(['{}', '[]', ' {"a": [1, -0.5e3, "\\u00e9", null, true, {}]} ', '"text"', '0'])('%j has none', (text) => {
  expect(jsonErrorLine(text)).toBeNull();
});
