import { IsArray, IsIn, IsInt, IsOptional, IsString } from 'class-validator';
import { NestedArray } from './nested';
import { PageQuery, QueryInteger, QueryOneOf, QueryText, QueryTime, QueryUuid } from './query-fields';
import { strictDto } from './strict-dto.pipe';

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

const parseQuery = (query: object) =>
  strictDto.transform(query, { type: 'query', metatype: SampleQuery }) as Promise<SampleQuery>;

describe('a query', () => {
  it('is parsed by its class and the base class', async () => {
    const id = '01A1FF72-111F-7E28-92DE-EC549CF33A62';
    expect({
      ...(await parseQuery({ limit: '7', from: '2026-01-31', direction: 'up', id, text: 'äöü', count: '0' })),
    }).toEqual({
      limit: 7,
      from: new Date('2026-01-31T00:00:00Z'),
      direction: 'up',
      id: id.toLowerCase(),
      text: 'äöü',
      count: 0,
    });
  });

  it('parses times of every time zone, with and without fractions', async () => {
    const times = ['2026-02-28T23:30Z', '2026-02-28T23:30:00.123456Z', '2026-03-01T00:30+01:00'];
    const parsed = await Promise.all(times.map((from) => parseQuery({ from })));
    expect(parsed.map(({ from }) => from?.toISOString().slice(0, 16))).toEqual(times.map(() => '2026-02-28T23:30'));
  });

  it('may be empty', async () => {
    expect({ ...(await parseQuery({})) }).toEqual({});
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
    ['__proto__', { limit: '500' }],
    ['toString', '1'],
  ])('is refused for %s=%j with the parameter as param', async (name, value) => {
    await expect(parseQuery({ [name]: value })).rejects.toMatchObject({ code: 'validation_failed', param: name });
  });
});

class SampleItem {
  @IsInt()
  count!: number;
}

class SampleBody {
  @IsString()
  name!: string;

  @IsOptional()
  @IsInt()
  size?: number | null;

  @IsOptional()
  @IsArray()
  @IsIn(['a', 'b'], { each: true, context: { acceptsItem: (item: unknown) => item === 'a' || item === 'b' } })
  letters?: string[] | null;

  @IsOptional()
  @NestedArray(SampleItem)
  items?: SampleItem[] | null;
}

describe('a body', () => {
  const parseBody = (body: unknown) =>
    strictDto.transform(body, { type: 'body', metatype: SampleBody }) as Promise<SampleBody>;

  it('becomes an instance of its class', async () => {
    const body = await parseBody({ name: 'x', size: null, letters: ['a'] });
    expect(body).toBeInstanceOf(SampleBody);
    expect({ ...body }).toEqual({ name: 'x', size: null, letters: ['a'] });
  });

  it.each([
    ['name', { name: 1 }, 'name must be a string'],
    ['name', {}, 'name must be a string'],
    ['size', { name: 'x', size: '1' }, 'size must be an integer number'],
    ['letters', { name: 'x', letters: 'a' }, 'letters must be an array'],
    [
      'letters[1]',
      { name: 'x', letters: ['a', 'c'] },
      'each value in letters must be one of the following values: a, b',
    ],
    ['sice', { name: 'x', sice: 1 }, 'sice is not a known field'],
    ['constructor', { name: 'x', constructor: 1 }, 'constructor is not a known field'],
    ['valueOf', { name: 'x', valueOf: 1 }, 'valueOf is not a known field'],
    [
      'items[1].constructor',
      { name: 'x', items: [{ count: 1 }, { count: 2, constructor: 1 }] },
      'constructor is not a known field',
    ],
    ['n'.repeat(64), { name: 'x', ['n'.repeat(100)]: 1 }, `${'n'.repeat(64)} is not a known field`],
  ])('is refused with the field as param: %s', async (param, body, message) => {
    await expect(parseBody(body)).rejects.toMatchObject({ code: 'validation_failed', param, message });
  });

  it('reports every invalid field in details.issues and quotes no value', async () => {
    const error: unknown = await parseBody({ name: { hunter2: 1 }, size: 'hunter2' }).catch((cause: unknown) => cause);
    expect(error).toMatchObject({ details: { issues: [{ param: 'name' }, { param: 'size' }] } });
    expect(JSON.stringify(error)).not.toContain('hunter2');
  });

  it.each([[null], [[]], ['text'], [1]])('of %j is refused without a param', async (body) => {
    const refusal = { code: 'validation_failed', param: undefined, message: 'the body must be a JSON object' };
    await expect(parseBody(body)).rejects.toMatchObject(refusal);
  });

  it('is required', async () => {
    await expect(parseBody(undefined)).rejects.toMatchObject({ code: 'invalid_json' });
  });
});
