import { PageQuery, QueryInteger, QueryOneOf, QueryText, QueryTime, QueryUuid, ValidQuery } from './valid-query.pipe';

class SampleQuery extends PageQuery {
  @QueryTime()
  from?: Date;

  @QueryOneOf(['up', 'down'])
  direction?: string;

  @QueryUuid()
  id?: string;

  @QueryText({ max: 3 })
  text?: string;

  @QueryInteger({ min: 0, max: 9 })
  count?: number;
}

const pipe = new ValidQuery(SampleQuery);

describe('a query', () => {
  it('is parsed by its class and the base class', () => {
    const id = '01A1FF72-111F-7E28-92DE-EC549CF33A62';
    expect({
      ...pipe.transform({ limit: '7', from: '2026-01-31', direction: 'up', id, text: 'äöü', count: '0' }),
    }).toEqual({
      limit: 7,
      from: new Date('2026-01-31T00:00:00Z'),
      direction: 'up',
      id: id.toLowerCase(),
      text: 'äöü',
      count: 0,
    });
  });

  it('parses times of every time zone, with and without fractions', () => {
    const times = ['2026-02-28T23:30Z', '2026-02-28T23:30:00.123456Z', '2026-03-01T00:30+01:00'];
    expect(times.map((from) => pipe.transform({ from }).from?.toISOString().slice(0, 16))).toEqual(
      times.map(() => '2026-02-28T23:30'),
    );
  });

  it('may be empty', () => {
    expect({ ...pipe.transform({}) }).toEqual({});
  });

  it.each([
    ['limit', '0'],
    ['limit', '101'],
    ['limit', '1.5'],
    ['limit', '-1'],
    ['limit', '1e1'],
    ['limit', ''],
    ['limit', ['1', '2']],
    ['count', '9999999999999999'],
    ['from', '2026-02-30'],
    ['from', '2026-13-01'],
    ['from', 'yesterday'],
    ['from', '1999-12-31'],
    ['from', '2026-01-01T25:00Z'],
    ['direction', 'UP'],
    ['id', 'no-uuid'],
    ['text', 'abcd'],
    ['text', 'a\u0000'],
    ['text', '\ud800'],
    ['unknown', '1'],
    ['__proto__x', '1'],
  ])('is refused for %s=%j with the parameter as param', (name, value) => {
    expect(() => pipe.transform({ [name]: value })).toThrow(
      expect.objectContaining({ code: 'validation_failed', param: name }),
    );
  });
});
