import { parseArgs } from 'node:util';
import type { Target } from './client-call';

export interface ScorecardOptions {
  /** `null`: this gateway, started by the scorecard. */
  readonly target: Target | null;
  /** Of the two scripted providers; 0 takes any free port. */
  readonly ports: { readonly first: number; readonly second: number };
  /** Time limit for the first byte that the other gateway has for its providers; `null`: unknown. */
  readonly upstreamTimeoutMs: number | null;
  readonly isShort: boolean;
  readonly jsonFile: string | null;
}

export const USAGE = `npm run scorecard -- [options]

  --short                    few calls and short waits, at most a minute
  --json <file>              also write the result there

Another gateway, which serves one model from the two providers, the first preferred:
  --base-url <url>           with the path, such as http://127.0.0.1:4000/v1
  --api-key <key>
  --model <name>
  --first-port <port>        where the providers listen (9101, 9102)
  --second-port <port>
  --upstream-timeout-ms <n>  its time limit for the first byte and for silence; without it the rows that need it are left out
`;

const PORTS = { first: 9_101, second: 9_102 };

/** @throws Error on unknown or incomplete options */
export function readOptions(args: readonly string[]): ScorecardOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      short: { type: 'boolean', default: false },
      json: { type: 'string' },
      'base-url': { type: 'string' },
      'api-key': { type: 'string' },
      model: { type: 'string' },
      'first-port': { type: 'string' },
      'second-port': { type: 'string' },
      'upstream-timeout-ms': { type: 'string' },
    },
  });
  const target = readTarget(values['base-url'], values['api-key'], values.model);
  const port = (name: keyof typeof PORTS): number =>
    wholeNumber(`${name}-port`, values[`${name}-port`] ?? (target === null ? '0' : String(PORTS[name])));
  const timeout = values['upstream-timeout-ms'];
  return {
    target,
    ports: { first: port('first'), second: port('second') },
    upstreamTimeoutMs: timeout === undefined ? null : wholeNumber('upstream-timeout-ms', timeout),
    isShort: values.short,
    jsonFile: values.json ?? null,
  };
}

function readTarget(baseUrl?: string, apiKey?: string, model?: string): Target | null {
  if (baseUrl === undefined && apiKey === undefined && model === undefined) return null;
  if (baseUrl === undefined || apiKey === undefined || model === undefined) {
    throw new Error('--base-url, --api-key and --model belong together');
  }
  return { baseUrl: baseUrl.replace(/\/$/, ''), apiKey, model };
}

function wholeNumber(name: string, text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 0) throw new Error(`--${name} does not take ${text}`);
  return value;
}
