import { InvalidArgumentError } from 'commander';
import {
  parseAmount,
  parseAmountOrNone,
  parseId,
  parseInteger,
  parseList,
  parseListOrNone,
  parsePositiveAmount,
  parseReference,
  parseRole,
  parseText,
  parseDay,
  parseTime,
  parseTimeOrNone,
} from './option-parsers';

type Parser = (text: string) => unknown;

describe('option parsers', () => {
  it.each<[Parser, string, unknown]>([
    [parseId, '0199ABCD-0000-7000-8000-00000000000F', '0199abcd-0000-7000-8000-00000000000f'],
    [parseText, ' Acme ', ' Acme '],
    [parseReference, 'r'.repeat(200), 'r'.repeat(200)],
    [parseAmount, '0', 0n],
    [parseAmount, '9007199254740991', 9_007_199_254_740_991n],
    [parsePositiveAmount, '1', 1n],
    [parseAmountOrNone, 'none', 'none'],
    [parseAmountOrNone, '12', 12n],
    [parseInteger, '60', 60],
    [parseTime, '2030-01-31', new Date(Date.UTC(2030, 0, 31))],
    [parseTime, '2030-01-31T12:00Z', new Date(Date.UTC(2030, 0, 31, 12))],
    [parseTime, '2030-01-31T12:00:30.5+02:00', new Date(Date.UTC(2030, 0, 31, 10, 0, 30, 500))],
    [parseDay, '2030-01-31', '2030-01-31'],
    [parseList, 'a', ['a']],
    [parseList, 'a, b ,c', ['a', 'b', 'c']],
    [parseListOrNone, 'none', 'none'],
    [parseListOrNone, 'a,none', ['a', 'none']],
    [parseTimeOrNone, 'none', 'none'],
    [parseTimeOrNone, '2030-01-31', new Date(Date.UTC(2030, 0, 31))],
    [parseRole, 'viewer', 'viewer'],
  ])('%p parses %j', (parse, text, expected) => {
    expect(parse(text)).toEqual(expected);
  });

  it.each<[Parser, string]>([
    [parseId, 'acme'],
    [parseId, '0199abcd00007000800000000000000f'],
    [parseText, '  '],
    [parseReference, ' '],
    [parseReference, 'r'.repeat(201)],
    [parseAmount, '-1'],
    [parseAmount, '1.5'],
    [parseAmount, '1e6'],
    [parseAmount, '0x10'],
    [parseAmount, ''],
    [parseAmount, '9007199254740992'],
    [parsePositiveAmount, '0'],
    [parseAmountOrNone, 'null'],
    [parseInteger, '1.5'],
    [parseInteger, 'ten'],
    [parseTime, 'tomorrow'],
    [parseTime, '2030-02-30'],
    [parseTime, '2030-13-01'],
    [parseTime, '2030-01-31T12:00:00'],
    [parseTime, '1893456000'],
    [parseTime, '0000-01-01T00:00Z'],
    [parseDay, '0000-01-01'],
    [parseDay, '2030-02-30'],
    [parseDay, '2030-13-01'],
    [parseDay, '2030-01-31T12:00Z'],
    [parseList, ''],
    [parseList, 'a,,b'],
    [parseRole, 'Owner'],
    [parseRole, 'operator'],
  ])('%p refuses %j', (parse, text) => {
    expect(() => parse(text)).toThrow(InvalidArgumentError);
  });
});
