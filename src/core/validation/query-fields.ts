import { applyDecorators } from '@nestjs/common';
import { Transform } from 'class-transformer';
import { IsBoolean, IsDate, IsIn, IsInt, IsOptional, Max, MaxDate, Min, MinDate, ValidateBy } from 'class-validator';
import { isUuid } from '../types/require-uuid';

/*
 * Fields of query classes (`strictDto`). Every parameter is optional. A repeated parameter arrives as an array, which
 * no rule accepts.
 */

const TIME = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2}))?$/;
const FIRST_TIME = new Date(Date.UTC(2000, 0, 1));
const LAST_TIME = new Date(Date.UTC(2200, 0, 1) - 1);

export function QueryInteger({ min, max }: { readonly min: number; readonly max: number }): PropertyDecorator {
  const options = { message: `$property must be an integer from ${min} to ${max}` };
  return applyDecorators(
    IsOptional(),
    parsed((text) => (/^\d{1,15}$/.test(text) ? Number(text) : Number.NaN)),
    IsInt(options),
    Min(min, options),
    Max(max, options),
  );
}

/** ISO 8601; a date without a time means its start in UTC. The property is a `Date`. */
export function QueryTime(): PropertyDecorator {
  const options = { message: '$property must be a time as ISO 8601, such as 2026-01-31T12:00:00Z' };
  return applyDecorators(
    IsOptional(),
    parsed((text) => {
      // `Date` reads 30 February as 2 March.
      const isOfCalendar = TIME.test(text) && new Date(text.slice(0, 10)).toJSON()?.startsWith(text.slice(0, 10));
      return new Date(isOfCalendar ? text : Number.NaN);
    }),
    IsDate(options),
    MinDate(FIRST_TIME, options),
    MaxDate(LAST_TIME, options),
  );
}

export function QueryText({ max }: { readonly max: number }): PropertyDecorator {
  return applyDecorators(
    IsOptional(),
    matches(
      'queryText',
      `1 to ${max} characters, none of them a control character`,
      (text) => text.length >= 1 && [...text].length <= max && !/[\p{Cc}\p{Cs}]/u.test(text),
    ),
  );
}

export function QueryOneOf(words: readonly string[]): PropertyDecorator {
  return applyDecorators(IsOptional(), IsIn(words, { message: `$property must be one of ${words.join(', ')}` }));
}

/** `true` or `false`. */
export function QueryBoolean(): PropertyDecorator {
  const words: Readonly<Record<string, boolean>> = { true: true, false: false };
  return applyDecorators(
    IsOptional(),
    parsed((text) => words[text] ?? text),
    IsBoolean({ message: '$property must be true or false' }),
  );
}

export function QueryUuid(): PropertyDecorator {
  return applyDecorators(
    IsOptional(),
    parsed((text) => text.toLowerCase()),
    matches('queryUuid', 'a UUID', isUuid),
  );
}

/** Parameters of every list. */
export class PageQuery {
  /** Maximum number of entries; default 50. */
  @QueryInteger({ min: 1, max: 100 })
  limit?: number;

  /** `next_cursor` of the previous page. */
  @QueryText({ max: 200 })
  cursor?: string;
}

export const DEFAULT_PAGE_LIMIT = 50;

function parsed(parse: (text: string) => unknown): PropertyDecorator {
  return Transform(({ value }: { value: unknown }) => (typeof value === 'string' ? parse(value) : value));
}

function matches(name: string, accepts: string, accept: (text: string) => boolean): PropertyDecorator {
  return ValidateBy({
    name,
    validator: {
      validate: (value: unknown) => typeof value === 'string' && accept(value),
      defaultMessage: () => `$property must be ${accepts}`,
    },
  });
}
