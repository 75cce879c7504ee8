import { compileValidator } from '../../../core/validation/valid-body.pipe';
import { EmbeddingRequestDto } from './embedding-request.dto';

const issuesOf = compileValidator(EmbeddingRequestDto);

describe('embedding input', () => {
  it.each<[unknown]>([['a'], [['a', 'b']], [[1, 2]], [[[1], [2, 3]]]])('accepts %j', (input) => {
    expect(issuesOf({ model: 'm/m', input })).toEqual([]);
  });

  it.each<[unknown, string, string]>([
    ['', 'input', 'a string, 1 to 2048 strings, or token ids of one or as many texts, none empty'],
    [{}, 'input', 'a string, 1 to 2048 strings, or token ids of one or as many texts, none empty'],
    [[], 'input', 'a string, 1 to 2048 strings, or token ids of one or as many texts, none empty'],
    [Array(2049).fill('a'), 'input', 'a string, 1 to 2048 strings, or token ids of one or as many texts, none empty'],
    [['a', ''], 'input[1]', 'a string that is not empty'],
    [['a', 1], 'input[1]', 'a string that is not empty'],
    [[''], 'input[0]', 'a string that is not empty'],
    [[1, 'a'], 'input[1]', 'a token id, a non-negative integer'],
    [[1.5], 'input[0]', 'a token id, a non-negative integer'],
    [[[1], []], 'input[1]', 'a list of token ids that is not empty'],
    [[[-1]], 'input[0]', 'a list of token ids that is not empty'],
    [[null], 'input[0]', 'a string, a token id or a list of token ids'],
    [[{ text: 'a' }], 'input[0]', 'a string, a token id or a list of token ids'],
  ])('reports for %j which item is not accepted and what it must be', (input, param, types) => {
    expect(issuesOf({ model: 'm/m', input })).toEqual([{ param, message: `${param} must be ${types}` }]);
  });
});
