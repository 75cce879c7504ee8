import { parseArgs } from 'node:util';

export type Mode = 'non-stream' | 'stream';

const PEER_NAMES = ['portkey', 'litellm'] as const;
export type PeerName = (typeof PEER_NAMES)[number];

/** Another gateway to compare with. */
export interface PeerChoice {
  readonly name: PeerName;
  /** Its program; `null`: where its installer puts it. */
  readonly path: string | null;
}

/** Load before the first round, for the compiler of V8: it optimizes a function after some thousand calls. */
export interface WarmUp {
  readonly durationMs: number;
  readonly callers: number;
}

export interface BenchOptions {
  readonly modes: readonly Mode[];
  readonly rounds: number;
  readonly warmUp: Readonly<Record<Mode, WarmUp>>;
  readonly closedMs: number;
  readonly openMs: number;
  /** Concurrency of the closed loop. */
  readonly callers: Readonly<Record<Mode, number>>;
  /** Pause of the upstream between the chunks of a stream. With 0, readers find several chunks at a time. */
  readonly chunkGapMs: number;
  /** Arrival rate of the open loop, per second. */
  readonly arrivals: Readonly<Record<Mode, number>>;
  /** Measure the forwarder against a second copy of itself: the measurement error of this machine. */
  readonly selfCheck: boolean;
  /** Let the gateway start embedded PostgreSQL and Redis although real ones are installed. */
  readonly embedded: boolean;
  /** `null`: no soak. A soak replaces the rounds. */
  readonly soak: { readonly minutes: number; readonly perSecond: number } | null;
  /** Other gateways to run beside this one; not empty: their comparison replaces the rounds. */
  readonly against: readonly PeerChoice[];
  readonly jsonFile: string | null;
}

export const USAGE = `npm run bench -- [options]
npm run bench -- translate [options]: CPU time per chunk of a stream by upstream format; translate --help

  --quick               a few seconds, as a smoke test; its figures mean little
  --only <mode>         non-stream or stream
  --rounds <n>          rounds per mode (9)
  --callers <n>         concurrency of the closed loop (64)
  --chunk-gap-ms <n>    pause between the chunks of a stream (5); 0: as fast as the upstream can write
  --rps <n>             arrival rate of the open loop and of the soak (300 non-stream, 20 stream, 200 soak)
  --soak-minutes <n>    only load the gateway for so long and watch its memory
  --self-check          compare the forwarder with itself: the noise of this machine; no gateway, no databases
  --against <list>      compare with portkey and litellm, where they are installed, instead of the forwarder;
                        name=path says where one is: --against portkey=/opt/portkey/build/start-server.js,litellm
  --embedded            use the gateway's embedded PostgreSQL and Redis even where real ones are installed
  --json <file>         also write the result there
  --help
`;

/** Reads the command line; throws on any unknown option. */
export function readOptions(args: readonly string[]): BenchOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      quick: { type: 'boolean', default: false },
      only: { type: 'string' },
      rounds: { type: 'string' },
      callers: { type: 'string' },
      'chunk-gap-ms': { type: 'string', default: '5' },
      rps: { type: 'string' },
      'soak-minutes': { type: 'string' },
      'self-check': { type: 'boolean', default: false },
      embedded: { type: 'boolean', default: false },
      against: { type: 'string' },
      json: { type: 'string' },
    },
  });
  const quick = values.quick;
  const rate = (byDefault: number): number => positive('rps', values.rps ?? String(byDefault));
  const callers = (byDefault: number): number => positive('callers', values.callers ?? String(byDefault));
  const warmUp = (durationMs: number, count: number): WarmUp => ({
    durationMs: quick ? 500 : durationMs,
    callers: count,
  });
  const minutes = values['soak-minutes'];
  return {
    modes: readModes(values.only),
    rounds: positive('rounds', values.rounds ?? (quick ? '1' : '9')),
    // Streams are paced: with the callers of a round, 4 s would be only 440 of them.
    warmUp: { 'non-stream': warmUp(4_000, callers(64)), stream: warmUp(15_000, 4 * callers(64)) },
    closedMs: quick ? 1_000 : 3_000,
    openMs: quick ? 1_000 : 5_000,
    callers: { 'non-stream': callers(64), stream: callers(64) },
    chunkGapMs: numberFrom(0, 'chunk-gap-ms', values['chunk-gap-ms']),
    arrivals: { 'non-stream': rate(300), stream: rate(20) },
    selfCheck: values['self-check'],
    embedded: values.embedded,
    soak: minutes === undefined ? null : { minutes: positive('soak-minutes', minutes), perSecond: rate(200) },
    against: readPeers(values.against),
    jsonFile: values.json ?? null,
  };
}

function readModes(only: string | undefined): readonly Mode[] {
  if (only === undefined) return ['non-stream', 'stream'];
  if (only === 'non-stream' || only === 'stream') return [only];
  throw new Error('--only takes non-stream or stream');
}

function readPeers(text: string | undefined): readonly PeerChoice[] {
  return (text?.split(',') ?? []).map((part) => {
    const [given = '', path = null] = part.split('=');
    const name = PEER_NAMES.find((known) => known === given);
    if (name === undefined) throw new Error(`--against takes ${PEER_NAMES.join(' and ')}, not ${given}`);
    return { name, path };
  });
}

function positive(name: string, text: string): number {
  return numberFrom(Number.MIN_VALUE, name, text);
}

function numberFrom(least: number, name: string, text: string): number {
  const value = Number(text);
  if (!(value >= least && Number.isFinite(value))) throw new Error(`--${name} does not take ${text}`);
  return value;
}
