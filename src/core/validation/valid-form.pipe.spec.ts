import { IsArray, IsBoolean, IsIn, IsInt, IsNumber, IsOptional, IsString, Max, Min } from 'class-validator';
import { GatewayError } from '../errors/gateway-error';
import { MultipartForm } from '../types/multipart-form';
import { NestedObject } from './nested';
import { ValidForm } from './valid-form.pipe';

class PriceDto {
  @IsOptional()
  @IsInt()
  prompt?: number;
}

class RoutingDto {
  @IsOptional()
  @IsInt()
  max_attempts?: number;

  @IsOptional()
  @IsArray()
  @IsString({ each: true })
  only?: string[];

  @IsOptional()
  @NestedObject(PriceDto, { closed: true })
  max_price?: PriceDto;
}

class PictureDto {
  @IsString()
  prompt!: string;

  @IsOptional()
  @IsInt()
  @Min(1)
  @Max(10)
  n?: number;

  @IsOptional()
  @IsNumber()
  temperature?: number;

  @IsOptional()
  @IsBoolean()
  stream?: boolean;

  @IsOptional()
  @IsArray()
  @IsIn(['word', 'segment'], { each: true })
  times?: string[];

  @IsOptional()
  @NestedObject(RoutingDto, { closed: true })
  routing?: RoutingDto;
}

const pipe = new ValidForm(PictureDto, {
  n: 'number',
  temperature: 'number',
  stream: 'boolean',
  times: 'list',
  routing: { max_attempts: 'number', only: 'list', max_price: { prompt: 'number' } },
});
const formOf = (fields: Record<string, string | string[]>): MultipartForm =>
  new MultipartForm(new Map(Object.entries(fields).map(([name, value]) => [name, [value].flat()])), []);
const read = (fields: Record<string, string | string[]>): object => pipe.transform(formOf(fields)).body;

function refusalOf(form: unknown): readonly [code: string, param: string | undefined] {
  try {
    pipe.transform(form);
  } catch (error) {
    if (error instanceof GatewayError) return [error.code, error.param];
    throw error;
  }
  throw new Error('the form was accepted');
}

describe('ValidForm', () => {
  it('parses fields by type, and returns the form with them', () => {
    const form = formOf({
      prompt: '1',
      n: '2',
      temperature: '-1.5e0',
      stream: 'true',
      times: ['word', 'segment'],
      routing: '{"max_attempts":2}',
    });
    const { body, form: given } = pipe.transform(form);
    expect(body).toEqual({
      prompt: '1',
      n: 2,
      temperature: -1.5,
      stream: true,
      times: ['word', 'segment'],
      routing: { max_attempts: 2 },
    });
    expect(given).toBe(form);
  });

  it('parses an object sent as parts, as official clients do', () => {
    const parts = { 'routing[max_attempts]': '2', 'routing[only]': 'openai', 'routing[max_price][prompt]': '5' };
    const routing = { max_attempts: 2, only: ['openai'], max_price: { prompt: 5 } };
    expect(read({ prompt: 'a', ...parts })).toEqual({ prompt: 'a', routing });
  });

  it('returns a list for one item, and parses "false" as false', () => {
    expect(read({ prompt: '', times: 'word', stream: 'false' })).toEqual({
      prompt: '',
      times: ['word'],
      stream: false,
    });
  });

  it.each([
    ['True', true],
    ['False', false],
    ['TRUE', true],
  ])('parses the boolean "%s" in the case that the client writes it', (stream, parsed) => {
    expect(read({ prompt: 'a', stream })).toEqual({ prompt: 'a', stream: parsed });
  });

  it('ignores undeclared fields, even repeated ones', () => {
    expect(read({ prompt: 'a', extra: ['b', 'c'], constructor: 'd' })).toEqual({ prompt: 'a' });
  });

  it.each<[string, Record<string, string | string[]>, string]>([
    ['a missing field', {}, 'prompt'],
    ['a field that is sent twice', { prompt: ['a', 'b'] }, 'prompt'],
    ['no number', { prompt: 'a', n: 'two' }, 'n'],
    ['an empty number', { prompt: 'a', n: '' }, 'n'],
    ['a number of another notation', { prompt: 'a', n: '0x2' }, 'n'],
    ['a number with a space', { prompt: 'a', n: ' 2' }, 'n'],
    ['a fraction of an integer', { prompt: 'a', n: '1.5' }, 'n'],
    ['a number out of range', { prompt: 'a', n: '11' }, 'n'],
    ['an infinite number', { prompt: 'a', temperature: '1e999' }, 'temperature'],
    ['NaN', { prompt: 'a', temperature: 'NaN' }, 'temperature'],
    ['no boolean', { prompt: 'a', stream: 'yes' }, 'stream'],
    ['an item that does not exist', { prompt: 'a', times: ['word', 'line'] }, 'times[1]'],
    ['no JSON', { prompt: 'a', routing: '{' }, 'routing'],
    ['empty JSON', { prompt: 'a', routing: '' }, 'routing'],
    [
      'JSON with a repeated name',
      { prompt: 'a', routing: '{"max_attempts":1,"max_attempts":2}' },
      'routing.max_attempts',
    ],
    ['JSON that is no object', { prompt: 'a', routing: '[]' }, 'routing'],
    ['an object that is sent in two ways', { prompt: 'a', routing: '{}', 'routing[max_attempts]': '1' }, 'routing'],
    ['a part that the object does not have', { prompt: 'a', 'routing[url]': 'x' }, 'routing.url'],
    ['a part that every object has', { prompt: 'a', 'routing[__proto__]': 'x' }, 'routing.__proto__'],
    ['a part below one that has none', { prompt: 'a', 'routing[only][0]': 'x' }, 'routing.only'],
    ['a part that is the whole of one', { prompt: 'a', 'routing[max_price][a][b]': '1' }, 'routing.max_price.a'],
    ['a part that is sent twice', { prompt: 'a', 'routing[max_attempts]': ['1', '2'] }, 'routing.max_attempts'],
    ['a part of another type', { prompt: 'a', 'routing[max_attempts]': 'two' }, 'routing.max_attempts'],
    ['a part with half a name', { prompt: 'a', 'routing[only': 'x' }, 'routing'],
    ['a name that the object does not have', { prompt: 'a', routing: '{"url":"x"}' }, 'routing.url'],
  ])('refuses %s', (_what, fields, param) => {
    expect(refusalOf(formOf(fields))).toEqual(['validation_failed', param]);
  });

  it('refuses a request without a body', () => {
    expect(refusalOf(undefined)).toEqual(['validation_failed', undefined]);
  });
});
