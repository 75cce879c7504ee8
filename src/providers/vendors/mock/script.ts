import { ProviderError } from '../../contract/provider-error';

/** Behaviour that a directive in the prompt requests (README, *Directives*). Absent: normal behaviour. */
export interface Script {
  readonly status?: number;
  /** The raw `Retry-After` header: not necessarily a number. */
  readonly retryAfter?: string;
  readonly hang?: boolean;
  readonly firstTokenMs?: number;
  /** Delay between two pieces of the response. */
  readonly delayMs?: number;
  /** The next three count pieces of the response; 0 is before the first. */
  readonly resetAfter?: number;
  readonly errorAfter?: number;
  readonly garbageAfter?: number;
  readonly noFinish?: boolean;
  readonly noUsage?: boolean;
  readonly tokens?: number;
  readonly chunks?: number;
  readonly usagePrompt?: number;
  readonly usageCompletion?: number;
  /** The upstream's content policy refuses the request. */
  readonly filtered?: boolean;
  /** Images: the prompt is reported as rewritten. */
  readonly revise?: boolean;
  /** Images: the image with this index is not made; counts from 1. */
  readonly failImage?: number;
  /** Transcription: the rest of the prompt is the transcript. */
  readonly say?: boolean;
  /** Jobs: the connection for the submission fails. */
  readonly unreachable?: boolean;
  /** Jobs: the submission fails after the job was accepted. */
  readonly accept?: boolean;
  /** Jobs: submissions and output fetches fail this many times, then succeed; absent: always. */
  readonly times?: number;
  readonly queuedMs?: number;
  readonly runMs?: number;
  readonly fail?: 'content' | 'error' | 'timeout';
  readonly noProgress?: boolean;
  readonly cancel?: 'too_late' | 'requested' | 'error';
  readonly pollStatus?: number;
  readonly pollHang?: boolean;
  readonly pollReset?: boolean;
  /** How long polls fail, counted from the submission; absent: always. */
  readonly pollForMs?: number;
  readonly artifact?: 'missing' | 'broken' | 'slow' | 'huge' | 'wrong';
  readonly outputs?: number;
  readonly usageSeconds?: number;
}

type MutableScript = { -readonly [Field in keyof Script]: Script[Field] };
type FieldOf<Type> = { [Field in keyof Script]-?: Required<Script>[Field] extends Type ? Field : never }[keyof Script];
/** Stores a value; `false` when the key does not accept it. `undefined`: the key has no value. */
type Setter = (script: MutableScript, value: string | undefined) => boolean;

const OPENING = '[[mock:';
const CLOSING = ']]';
const MAX_DURATION_MS = 600_000;
const MAX_TOKENS = 100_000;
const MAX_IMAGES = 10;
const MAX_OUTPUTS = 4;
const NOTHING: Script = Object.freeze({});

const KEYS: ReadonlyMap<string, Setter> = new Map([
  ['status', count('status', 400, 599)],
  ['retry_after', text('retryAfter')],
  ['hang', flag('hang')],
  ['first_token', duration('firstTokenMs')],
  ['delay', duration('delayMs')],
  ['drip', duration('delayMs')],
  ['reset_after', count('resetAfter', 0, MAX_TOKENS)],
  ['error_after', count('errorAfter', 0, MAX_TOKENS)],
  ['garbage', count('garbageAfter', 0, MAX_TOKENS, 0)],
  ['no_finish', flag('noFinish')],
  ['no_usage', flag('noUsage')],
  ['tokens', count('tokens', 1, MAX_TOKENS)],
  ['chunks', count('chunks', 1, MAX_TOKENS)],
  ['usage_prompt', count('usagePrompt', 0, Number.MAX_SAFE_INTEGER)],
  ['usage_completion', count('usageCompletion', 0, Number.MAX_SAFE_INTEGER)],
  ['filtered', flag('filtered')],
  ['revise', flag('revise')],
  ['fail_image', count('failImage', 1, MAX_IMAGES)],
  ['say', flag('say')],
  ['unreachable', flag('unreachable')],
  ['accept', flag('accept')],
  ['times', count('times', 1, MAX_TOKENS)],
  ['queued', duration('queuedMs')],
  ['run', duration('runMs')],
  ['fail', word('fail', ['content', 'error', 'timeout'])],
  ['no_progress', flag('noProgress')],
  ['cancel', word('cancel', ['too_late', 'requested', 'error'])],
  ['poll_status', count('pollStatus', 400, 599)],
  ['poll_hang', flag('pollHang')],
  ['poll_reset', flag('pollReset')],
  ['poll_for', duration('pollForMs')],
  ['artifact', word('artifact', ['missing', 'broken', 'slow', 'huge', 'wrong'])],
  ['outputs', count('outputs', 1, MAX_OUTPUTS)],
  ['usage_seconds', count('usageSeconds', 0, Number.MAX_SAFE_INTEGER)],
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
  const script: MutableScript = {};
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

function applyDirective(script: MutableScript, directive: string, param: string): void {
  for (const word of directive.split(/[\s,]+/)) {
    if (word === '') {
      continue;
    }
    const equals = word.indexOf('=');
    const key = equals < 0 ? word : word.slice(0, equals);
    const setter = KEYS.get(key);
    if (setter === undefined) {
      throw refused(`Unknown mock directive key "${key.slice(0, 40)}". Known: ${[...KEYS.keys()].join(', ')}.`, param);
    }
    if (!setter(script, equals < 0 ? undefined : word.slice(equals + 1))) {
      throw refused(`The mock directive key "${key}" does not accept this value.`, param);
    }
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

function text(field: 'retryAfter'): Setter {
  return (script, value) => {
    script[field] = value;
    return value !== undefined;
  };
}

function flag(field: FieldOf<boolean>): Setter {
  return (script, value) => {
    script[field] = true;
    return value === undefined;
  };
}

function count(field: FieldOf<number>, least: number, most: number, whenAlone = NaN): Setter {
  return (script, value) => {
    const number = value === undefined ? whenAlone : /^\d+$/.test(value) ? Number(value) : NaN;
    script[field] = number;
    return number >= least && number <= most;
  };
}

function word<Field extends 'fail' | 'cancel' | 'artifact'>(
  field: Field,
  words: readonly NonNullable<MutableScript[Field]>[],
): Setter {
  return (script, value) => {
    script[field] = words.find((each) => each === value);
    return script[field] !== undefined;
  };
}

/** `50ms`, `2s`, or a bare number of milliseconds. */
function duration(field: FieldOf<number>): Setter {
  return (script, value = '') => {
    const match = /^(\d+(?:\.\d+)?)(ms|s)?$/.exec(value);
    const milliseconds = match === null ? NaN : Number(match[1]) * (match[2] === 's' ? 1000 : 1);
    script[field] = milliseconds;
    return milliseconds <= MAX_DURATION_MS;
  };
}
