/**
 * `npm run bench -- translate`: CPU time per chunk of a stream within the gateway, by the upstream's wire format,
 * beside forwarding the bytes as they are. One process, no sockets and no databases, so it runs anywhere; see README.md
 * here.
 */
import { createRequire } from 'node:module';
import { parseArgs } from 'node:util';
import { median, round } from '#bench/statistics';
import { CONTENDERS, type Contender } from '#bench/translated-streams';
import type { ChunkStream } from '../../src/providers/contract/chat.js';
import type { ProviderCall } from '../../src/providers/contract/provider-call.js';
import type { ReplyReceiver } from '../../src/providers/kit/reply-receiver.js';
import type { UpstreamExchange, UpstreamHttp } from '../../src/providers/kit/upstream-http.js';

type Controller = Parameters<UpstreamExchange['onRequestStart']>[0];

const require = createRequire(import.meta.url);
const kit =
  require('../../dist/src/providers/kit/upstream-http.js') as typeof import('../../src/providers/kit/upstream-http.js');
const { systemClock } = require('../../dist/src/core/time/clock.js') as typeof import('../../src/core/time/clock.js');

const CHUNKS_PER_STREAM = 300;
/** Words of usual length, some with an escape or beyond ASCII. */
const WORDS = ['the ', 'gateway ', 'translates ', 'every\n', 'chunk ', '“quoted” ', 'of ', 'a ', 'stream, ', 'größer '];

export const TRANSLATE_USAGE = `npm run bench -- translate [options]

  --rounds <n>    rounds, each with every format (15)
  --streams <n>   streams of ${CHUNKS_PER_STREAM} chunks by format and round (200)
  --help
`;

/** Plays the upstream of one stream: the reply arrives one event at a time. */
class PlayedReply {
  private exchange: UpstreamExchange | null = null;
  private readonly controller = {
    aborted: false,
    paused: false,
    reason: null,
    abort: (reason: Error) => {
      throw reason;
    },
    pause: () => undefined,
    resume: () => undefined,
  } as unknown as Controller;

  /** What a dialect sends its requests through. */
  get http(): UpstreamHttp {
    const transport: Pick<UpstreamHttp, 'endpoint' | 'postForStream'> = {
      endpoint: (path) => path,
      postForStream: (_endpoint, _body, call, receiver) => this.begin(call as ProviderCall, receiver),
    };
    return transport as UpstreamHttp;
  }

  begin(call: ProviderCall, receiver: ReplyReceiver): UpstreamExchange {
    this.exchange = new kit.UpstreamExchange(call, 'event-stream', receiver, systemClock);
    return this.exchange;
  }

  /** Resolves when the request has been sent. */
  async sent(): Promise<UpstreamExchange> {
    while (this.exchange === null) await Promise.resolve();
    this.exchange.onRequestStart(this.controller);
    this.exchange.onResponseStart(this.controller, 200, { 'content-type': 'text/event-stream' });
    return this.exchange;
  }

  async play(exchange: UpstreamExchange, events: readonly Buffer[]): Promise<void> {
    for (const event of events) {
      exchange.onResponseData(this.controller, event);
      // What one read has brought is written once the read is over.
      await Promise.resolve();
    }
  }
}

class CountingSink {
  bytes = 0;

  write(frames: string | Buffer): boolean {
    this.bytes += frames.length;
    return true;
  }

  drained(): Promise<void> {
    return Promise.resolve();
  }
}

/** The baseline: what arrives is passed on, through the same exchange with its time limits. */
async function forward(reply: PlayedReply, events: readonly Buffer[], call: ProviderCall): Promise<number> {
  const sink = new CountingSink();
  const exchange = reply.begin(call, {
    onData: (chunk) => {
      sink.write(chunk);
      exchange.touch();
    },
    onEnd: () => undefined,
    onFailure: (error) => {
      throw error;
    },
  });
  await reply.sent();
  exchange.enterStream();
  await reply.play(exchange, events);
  exchange.onResponseEnd();
  return sink.bytes;
}

async function translate(
  open: NonNullable<Contender['open']>,
  { reply, events, call }: { reply: PlayedReply; events: readonly Buffer[]; call: ProviderCall },
): Promise<number> {
  const sink = new CountingSink();
  const opening: Promise<ChunkStream> = open(reply.http, call);
  const exchange = await reply.sent();
  await reply.play(exchange, events.slice(0, 3));
  const stream = await opening;
  const piped = stream.pipe(sink);
  await reply.play(exchange, events.slice(3));
  exchange.onResponseEnd();
  await piped;
  if (stream.progress.outputBytes !== TEXT_BYTES || stream.progress.usage === null) {
    throw new Error(`a stream lost text or usage: ${stream.progress.outputBytes} of ${TEXT_BYTES} bytes`);
  }
  return sink.bytes;
}

const TEXTS = Array.from({ length: CHUNKS_PER_STREAM }, (_, at) => WORDS[at % WORDS.length] ?? '');
const TEXT_BYTES = Buffer.byteLength(TEXTS.join(''));

function newCall(): ProviderCall {
  return {
    requestId: 'req_bench',
    attempt: 1,
    publicModel: 'vendor/model',
    upstreamModel: 'model',
    features: {},
    quirks: {},
    deadlines: { connectMs: 60_000, firstTokenMs: 60_000, idleMs: 60_000, totalMs: 600_000 },
    signal: new AbortController().signal,
  };
}

/** @returns microseconds of CPU time per chunk */
async function measure({ open, events: toEvents }: Contender, streams: number): Promise<number> {
  const events = toEvents(TEXTS).map((event) => Buffer.from(event));
  const before = process.cpuUsage();
  for (let count = 0; count < streams; count++) {
    const reply = new PlayedReply();
    const call = newCall();
    await (open === null ? forward(reply, events, call) : translate(open, { reply, events, call }));
  }
  const { user, system } = process.cpuUsage(before);
  return (user + system) / (streams * CHUNKS_PER_STREAM);
}

/**
 * Prints one JSON object: the least and the median CPU time by format, and the difference from the baseline by round.
 */
export async function benchTranslation(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: { rounds: { type: 'string', default: '15' }, streams: { type: 'string', default: '200' } },
  });
  const [rounds, streams] = [Number(values.rounds), Number(values.streams)];
  if (!(rounds >= 1 && streams >= 1)) throw new Error('--rounds and --streams take numbers from 1');
  const samples = new Map(CONTENDERS.map(({ name }): [string, number[]] => [name, []]));
  for (const contender of CONTENDERS) await measure(contender, streams);
  for (let count = 0; count < rounds; count++) {
    // The order alternates, so that no format always runs behind the same one.
    const order = count % 2 === 0 ? CONTENDERS : CONTENDERS.toReversed();
    for (const contender of order) samples.get(contender.name)?.push(await measure(contender, streams));
  }
  const floor = samples.get(CONTENDERS[0].name) ?? [];
  const microsPerChunk = Object.fromEntries(
    [...samples].map(([name, each]) => [
      name,
      {
        least: round(Math.min(...each)),
        median: round(median(each)),
        overForwarding: round(median(each.map((value, at) => value - (floor[at] ?? 0)))),
      },
    ]),
  );
  process.stdout.write(`${JSON.stringify({ rounds, streams, chunks: CHUNKS_PER_STREAM, microsPerChunk }, null, 2)}\n`);
}
