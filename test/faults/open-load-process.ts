/**
 * The load generator of the long forms, in a separate process. An open load sends requests on schedule, whether or
 * not earlier ones were answered, and measures latency from the scheduled instant.
 */
import { randomBytes } from 'node:crypto';
import { constants, setPriority } from 'node:os';
import { Agent } from 'undici';

export interface OpenLoadJob {
  readonly url: string;
  readonly key: string;
  readonly body: string;
  /** `perSecond`: an open load. `callers`: this many clients, each of which sends again after its response. */
  readonly load: { readonly perSecond: number } | { readonly callers: number };
  readonly durationMs: number;
  /** Every one of so many requests belongs to a sampled trace of its caller; the others to none. */
  readonly sampledEvery?: number;
}

/** Times in milliseconds. */
export interface OpenLoadResult {
  /** Responses by status; 0: no response. */
  readonly statuses: Readonly<Record<string, number>>;
  /** Complete responses per second, from the first request to the last response. */
  readonly goodput: number;
  readonly served: Latency;
  readonly refused: Latency;
  /** Refusals without Retry-After. */
  readonly withoutRetryAfter: number;
  /** Lateness of the generator itself. When it is high, the latencies mean little. */
  readonly sendLag: Latency;
  /** From the end of the load to its last response. */
  readonly tailMs: number;
}

export interface Latency {
  readonly p50: number;
  readonly p99: number;
}

const AGENT = new Agent({ connections: 2_000, pipelining: 1, headersTimeout: 20_000, bodyTimeout: 20_000 });

async function run({
  url,
  key,
  body,
  load,
  durationMs,
  sampledEvery = Infinity,
}: OpenLoadJob): Promise<OpenLoadResult> {
  const { origin, pathname } = new URL(url);
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const statuses: Record<string, number> = {};
  const served: number[] = [];
  const refused: number[] = [];
  const lags: number[] = [];
  let withoutRetryAfter = 0;
  let sent = 0;

  const send = async (dueMs: number): Promise<void> => {
    lags.push(performance.now() - dueMs);
    let status = 0;
    const traceHeaders = ++sent % sampledEvery === 0 ? { traceparent: newSampledTraceparent() } : {};
    try {
      const reply = await AGENT.request({
        origin,
        path: pathname,
        method: 'POST',
        headers: { ...headers, ...traceHeaders },
        body,
      });
      await reply.body.dump();
      status = reply.statusCode;
      if (status !== 200 && reply.headers['retry-after'] === undefined) withoutRetryAfter++;
    } catch {
      // Counted as no response.
    }
    statuses[status] = (statuses[status] ?? 0) + 1;
    (status === 200 ? served : refused).push(performance.now() - dueMs);
  };

  const sendWhenDue = async (perSecond: number): Promise<void> => {
    const open: Promise<void>[] = [];
    for (let nowMs = 0; nowMs < durationMs; nowMs = performance.now() - startMs) {
      for (let dueMs = open.length / perSecond; dueMs * 1_000 <= nowMs; dueMs = open.length / perSecond) {
        open.push(send(startMs + dueMs * 1_000));
      }
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    await Promise.all(open);
  };
  const sendInTurn = async (callers: number): Promise<void> => {
    const call = async (): Promise<void> => {
      while (performance.now() - startMs < durationMs) await send(performance.now());
    };
    await Promise.all(Array.from({ length: callers }, call));
  };

  const startMs = performance.now();
  await ('callers' in load ? sendInTurn(load.callers) : sendWhenDue(load.perSecond));
  const endedMs = performance.now();
  return {
    statuses,
    goodput: (served.length * 1_000) / (endedMs - startMs),
    served: latencyOf(served),
    refused: latencyOf(refused),
    withoutRetryAfter,
    sendLag: latencyOf(lags),
    tailMs: endedMs - startMs - durationMs,
  };
}

/** Of W3C Trace Context, with the flag of a sampled trace. */
function newSampledTraceparent(): string {
  return `00-${randomBytes(16).toString('hex')}-${randomBytes(8).toString('hex')}-01`;
}

function latencyOf(values: number[]): Latency {
  values.sort((left, right) => left - right);
  const at = (share: number): number => Math.round((values[Math.floor(values.length * share)] ?? 0) * 10) / 10;
  return { p50: at(0.5), p99: at(0.99) };
}

// On another machine, as real clients are, it would not compete with the gateway for processors.
setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
process.on('message', (job: OpenLoadJob) => void run(job).then((result) => process.send?.(result)));
process.once('disconnect', () => process.exit());
