import { ProviderError } from '../../contract/provider-error';

/** Reads the value of a key, `undefined` when it has none. Returns `undefined` for an invalid value. */
type Parser<Value> = (value: string | undefined) => Value | undefined;

const OPENING = '[[mock:';
const CLOSING = ']]';
const MAX_DURATION_MS = 600_000;
const MAX_TOKENS = 100_000;
const MAX_IMAGES = 10;
const MAX_OUTPUTS = 4;
const NOTHING: Script = Object.freeze({});

/** The fields of a script, each with its key in a directive (README, *Directives*). */
const DIRECTIVES = {
  status: ['status', count(400, 599)],
  /** The raw `Retry-After` header: not necessarily a number. */
  retryAfter: ['retry_after', (value?: string) => value],
  hang: ['hang', flag],
  firstTokenMs: ['first_token', duration],
  /** Delay between two pieces of the response; also `drip`. */
  delayMs: ['delay', duration],
  /** The next three count pieces of the response; 0 is before the first. */
  resetAfter: ['reset_after', count(0, MAX_TOKENS)],
  errorAfter: ['error_after', count(0, MAX_TOKENS)],
  garbageAfter: ['garbage', count(0, MAX_TOKENS, 0)],
  noFinish: ['no_finish', flag],
  noUsage: ['no_usage', flag],
  tokens: ['tokens', count(1, MAX_TOKENS)],
  chunks: ['chunks', count(1, MAX_TOKENS)],
  usagePrompt: ['usage_prompt', count(0, Number.MAX_SAFE_INTEGER)],
  usageCompletion: ['usage_completion', count(0, Number.MAX_SAFE_INTEGER)],
  /** The upstream's content policy refuses the request. */
  filtered: ['filtered', flag],
  /** Images: the prompt is reported as rewritten. */
  revise: ['revise', flag],
  /** Images: the image with this index is not made; counts from 1. */
  failImage: ['fail_image', count(1, MAX_IMAGES)],
  /** Transcription: the rest of the prompt is the transcript. */
  say: ['say', flag],
  /** Jobs: the connection for the submission fails. */
  unreachable: ['unreachable', flag],
  /** Jobs: the submission fails after the job was accepted. */
  accept: ['accept', flag],
  /** Jobs: submissions and output fetches fail this many times, then succeed; absent: always. */
  times: ['times', count(1, MAX_TOKENS)],
  queuedMs: ['queued', duration],
  runMs: ['run', duration],
  fail: ['fail', oneOf('content', 'error', 'timeout')],
  noProgress: ['no_progress', flag],
  cancel: ['cancel', oneOf('too_late', 'requested', 'error')],
  pollStatus: ['poll_status', count(400, 599)],
  pollHang: ['poll_hang', flag],
  pollReset: ['poll_reset', flag],
  /** How long polls fail, counted from the submission; absent: always. */
  pollForMs: ['poll_for', duration],
  artifact: ['artifact', oneOf('missing', 'broken', 'slow', 'huge', 'wrong')],
  outputs: ['outputs', count(1, MAX_OUTPUTS)],
  usageSeconds: ['usage_seconds', count(0, Number.MAX_SAFE_INTEGER)],
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
 * Reads every `[[mock: key=value key …]]` of a message and removes it from the text.
 * @param param JSON path of the message, for the error.
 * @throws ProviderError `validation_failed` naming an unknown key or an invalid value.
 */
export function readScript(text: string, param: string): { script: Script; text: string } {
  let opening = text.indexOf(OPENING);
  if (opening < 0) {
    return { script: NOTHING, text };
  }
  const script: Script = {};
  let rest = '';
  let from = 0;
  while (opening >= 0) {
    const closing = text.indexOf(CLOSING, opening);
    if (closing < 0) {
      break;
    }
    applyDirective(script, text.slice(opening + OPENING.length, closing), param);
    rest += text.slice(from, opening);
    from = closing + CLOSING.length;
    opening = text.indexOf(OPENING, from);
  }
  return { script, text: rest + text.slice(from) };
}

function applyDirective(script: Script, directive: string, param: string): void {
  for (const word of directive.split(/[\s,]+/)) {
    if (word === '') {
      continue;
    }
    const equals = word.indexOf('=');
    const key = equals < 0 ? word : word.slice(0, equals);
    const field = FIELDS.get(key);
    if (field === undefined) {
      throw refused(
        `Unknown mock directive key "${key.slice(0, 40)}". Known: ${[...FIELDS.keys()].join(', ')}.`,
        param,
      );
    }
    const value = DIRECTIVES[field][1](equals < 0 ? undefined : word.slice(equals + 1));
    if (value === undefined) throw refused(`The mock directive key "${key}" does not accept this value.`, param);
    Object.assign(script, { [field]: value });
  }
}

function refused(message: string, param: string): ProviderError {
  return new ProviderError('validation_failed', message, {
    phase: 'headers',
    fallback: false,
    param,
    upstream: { status: 400 },
  });
}

function flag(value: string | undefined): true | undefined {
  return value === undefined ? true : undefined;
}

function count(least: number, most: number, withoutValue?: number): Parser<number> {
  return (value) => {
    if (value === undefined) return withoutValue;
    return /^\d+$/.test(value) && Number(value) >= least && Number(value) <= most ? Number(value) : undefined;
  };
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
