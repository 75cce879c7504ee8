import { compileValidator } from '../../core/validation/valid-body.pipe';
import { ResponseRequestDto } from './response-request.dto';

describe('ResponseRequestDto', () => {
  it.each([[5], [{}], [null], [undefined]])('names both types that input may have, for %j', (input) => {
    const message = 'input must be a string or an array';
    expect(compileValidator(ResponseRequestDto)({ model: 'm/m', input })).toEqual([{ param: 'input', message }]);
  });
});
