import type { PipeTransform } from '@nestjs/common';
import { GatewayError } from '../errors/gateway-error';
import { isUuid } from '../types/require-uuid';

/** Parses one parameter; `undefined` for invalid text. */
interface QueryRule {
  readonly accepts: string;
  parse(text: string): unknown;
}

const rulesOfClasses = new Map<object, Map<string, QueryRule>>();

const TIME = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2}))?$/;
const FIRST_TIME_MS = Date.UTC(2000, 0, 1);
const LAST_TIME_MS = Date.UTC(2200, 0, 1);

/**
 * Parses the query of a route into its DTO class. Every parameter is optional: missing ones are `undefined`. Refuses
 * unknown, repeated and invalid parameters with `validation_failed` and the name as `param`.
 */
export class ValidQuery<Dto extends object> implements PipeTransform<Readonly<Record<string, unknown>>, Dto> {
  private readonly rules: ReadonlyMap<string, QueryRule>;

  constructor(private readonly dto: new () => Dto) {
    this.rules = rulesOf(dto.prototype as object);
  }

  transform(query: Readonly<Record<string, unknown>>): Dto {
    const values = new this.dto();
    for (const [name, given] of Object.entries(query)) {
      const rule = this.rules.get(name);
      if (rule === undefined) throw refusal(name, 'is not a known parameter');
      if (typeof given !== 'string') throw refusal(name, 'must be given once');
      const value = rule.parse(given);
      if (value === undefined) throw refusal(name, `must be ${rule.accepts}`);
      (values as Record<string, unknown>)[name] = value;
    }
    return values;
  }
}

export function QueryInteger({ min, max }: { readonly min: number; readonly max: number }): PropertyDecorator {
  return rule(`an integer from ${min} to ${max}`, (text) => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    return value >= min && value <= max ? value : undefined;
  });
}

/** ISO 8601; a date without a time means its start in UTC. The property is a `Date`. */
export function QueryTime(): PropertyDecorator {
  return rule('a time as ISO 8601, such as 2026-01-31T12:00:00Z', (text) => {
    // `Date` reads 30 February as 2 March.
    const isOfCalendar = TIME.test(text) && new Date(text.slice(0, 10)).toJSON()?.startsWith(text.slice(0, 10));
    const ms = isOfCalendar ? Date.parse(text) : Number.NaN;
    return ms >= FIRST_TIME_MS && ms < LAST_TIME_MS ? new Date(ms) : undefined;
  });
}

export function QueryText({ max }: { readonly max: number }): PropertyDecorator {
  return rule(`1 to ${max} characters, none of them a control character`, (text) =>
    text.length >= 1 && [...text].length <= max && !/[\p{Cc}\p{Cs}]/u.test(text) ? text : undefined,
  );
}

export function QueryOneOf(words: readonly string[]): PropertyDecorator {
  return rule(`one of ${words.join(', ')}`, (text) => (words.includes(text) ? text : undefined));
}

export function QueryUuid(): PropertyDecorator {
  return rule('a UUID', (text) => (isUuid(text) ? text.toLowerCase() : undefined));
}

/** Parameters of every list. */
export class PageQuery {
  /** Maximum number of entries; default 50. */
  @QueryInteger({ min: 1, max: 100 })
  limit?: number;

  /** `next_cursor` of the page before. */
  @QueryText({ max: 200 })
  cursor?: string;
}

export const DEFAULT_PAGE_LIMIT = 50;

function rule(accepts: string, parse: QueryRule['parse']): PropertyDecorator {
  return (target, property) => {
    const rules = rulesOfClasses.get(target) ?? new Map<string, QueryRule>();
    rulesOfClasses.set(target, rules.set(String(property), { accepts, parse }));
  };
}

/** Rules of the class and its base classes. */
function rulesOf(prototype: object): ReadonlyMap<string, QueryRule> {
  const inherited: unknown = Object.getPrototypeOf(prototype);
  const own = rulesOfClasses.get(prototype) ?? [];
  return new Map([...(inherited === null ? [] : rulesOf(inherited as object)), ...own]);
}

function refusal(name: string, problem: string): GatewayError {
  // A name can be as long as the URL; only part of it is quoted.
  const param = name.slice(0, 64);
  return new GatewayError('validation_failed', `${param} ${problem}`, { param: param === '' ? undefined : param });
}
