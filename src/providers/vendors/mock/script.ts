import { ProviderError } from '../../contract/provider-error';

/** Reads the value of a key, `undefined` when it has none. Returns `undefined` for an invalid value. */
type Parser<Value> = (value: string | undefined) => Value | undefined;

const OPENING = '[[mock:';
const CLOSING = ']]';
const MAX_DURATION_MS = 600_000;
const MAX_PIECES = 100_000;

/** The fields of a script, each with its key in a directive (README, *Directives*). */
const DIRECTIVES = {
  status: ['status', count(400, 599)],
  /** The raw `Retry-After` header: not necessarily a number. */
  retryAfter: ['retry_after', (value?: string) => value],
  hang: ['hang', flag],
  garbage: ['garbage', flag],
  /** Count pieces of the response; 0 is before the first. */
  resetAfter: ['reset_after', count(0, MAX_PIECES)],
  errorAfter: ['error_after', count(0, MAX_PIECES)],
  noFinish: ['no_finish', flag],
  firstTokenMs: ['first_token', duration],
  /** Delay before each piece of the response; also `drip`. */
  delayMs: ['delay', duration],
  tokens: ['tokens', count(1, MAX_PIECES)],
  chunks: ['chunks', count(1, MAX_PIECES)],
  noUsage: ['no_usage', flag],
  usagePrompt: ['usage_prompt', count(0, Number.MAX_SAFE_INTEGER)],
  usageCompletion: ['usage_completion', count(0, Number.MAX_SAFE_INTEGER)],
  /** Jobs: the connection for the submission fails. */
  unreachable: ['unreachable', flag],
  /** Jobs: the submission fails after the job was accepted. */
  accept: ['accept', flag],
  queuedMs: ['queued', duration],
  runMs: ['run', duration],
  fail: ['fail', oneOf('content', 'error', 'timeout')],
  cancel: ['cancel', oneOf('too_late', 'requested')],
} as const satisfies Record<string, readonly [key: string, parse: Parser<unknown>]>;

/** Behaviour that a directive in the prompt requests. Absent: normal behaviour. */
export type Script = {
  readonly [Field in keyof typeof DIRECTIVES]?: Exclude<ReturnType<(typeof DIRECTIVES)[Field][1]>, undefined>;
};

const FIELDS: ReadonlyMap<string, keyof Script> = new Map([
  ...Object.entries(DIRECTIVES).map(([field, [key]]): [string, keyof Script] => [key, field as keyof Script]),
  ['drip', 'delayMs'],
]);

/**
 * Reads every `[[mock: key=value key …]]` of a text and removes it.
 * @param param JSON path of the text, for the error
 * @throws ProviderError `validation_failed` naming an unknown key or an invalid value
 */
export function readScript(text: string, param: string): { readonly script: Script; readonly text: string } {
  const script: Script = {};
  let rest = '';
  let from = 0;
  for (let opening = text.indexOf(OPENING); opening >= 0; opening = text.indexOf(OPENING, from)) {
    const closing = text.indexOf(CLOSING, opening);
    if (closing < 0) break;
    applyDirective(script, text.slice(opening + OPENING.length, closing), param);
    rest += text.slice(from, opening);
    from = closing + CLOSING.length;
  }
  return { script, text: rest + text.slice(from) };
}

function applyDirective(script: Script, directive: string, param: string): void {
  for (const word of directive.split(/[\s,]+/).filter((each) => each !== '')) {
    const [key = '', ...values] = word.split('=');
    const field = FIELDS.get(key);
    if (field === undefined) {
      const known = [...FIELDS.keys()].join(', ');
      throw refused(`Unknown mock directive key "${key.slice(0, 40)}". Known: ${known}.`, param);
    }
    const value = DIRECTIVES[field][1](values[0]);
    if (value === undefined) throw refused(`The mock directive key "${key}" does not accept this value.`, param);
    Object.assign(script, { [field]: value });
  }
}

/** A refusal of the request as invalid, before any work. */
export function refused(message: string, param: string): ProviderError {
  const options = { phase: 'headers', fallback: false, param, upstream: { status: 400 } } as const;
  return new ProviderError('validation_failed', message, options);
}

function flag(value: string | undefined): true | undefined {
  return value === undefined ? true : undefined;
}

function count(least: number, most: number): Parser<number> {
  return (value = '') =>
    /^\d+$/.test(value) && Number(value) >= least && Number(value) <= most ? Number(value) : undefined;
}

function oneOf<Word extends string>(...words: readonly Word[]): Parser<Word> {
  return (value) => words.find((word) => word === value);
}

/** `50ms`, `2s`, or a bare number of milliseconds. */
function duration(value = ''): number | undefined {
  const [, amount, unit] = /^(\d+(?:\.\d+)?)(ms|s)?$/.exec(value) ?? [];
  const durationMs = Number(amount) * (unit === 's' ? 1_000 : 1);
  return durationMs <= MAX_DURATION_MS ? durationMs : undefined;
}
