/**
 * The load generator, in a separate process. It takes one job at a time from the bench, runs it against one loopback
 * origin and reports; every incomplete reply is an error.
 */
import { Agent } from 'undici';
import { exitWithParent } from '#bench/child-server';
import { exchange, type Exchange } from '#bench/exchange';
import { summarize, type Summary } from '#bench/statistics';

export interface LoadJob {
  /** `http://127.0.0.1:<port>` */
  readonly origin: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly stream: boolean;
  /** Text that each complete reply must contain near its end, besides the end mark of streams; empty: none. */
  readonly expectedText: string;
  readonly durationMs: number;
  /** `closed`: a fixed number of callers, each sends after its response. `open`: requests are due at fixed instants. */
  readonly loop:
    { readonly kind: 'closed'; readonly callers: number } | { readonly kind: 'open'; readonly perSecond: number };
}

export interface LoadResult {
  readonly requests: number;
  readonly errors: number;
  /** The first few errors, as text. */
  readonly errorSamples: readonly string[];
  readonly requestsPerSecond: number;
  /** From the instant the request was due to the last byte. */
  readonly totalMs: Summary;
  /** From the same instant to the first byte of the body. */
  readonly firstByteMs: Summary;
  /** Open loop: lateness of the generator itself. When it is high, the latencies mean little. */
  readonly sendLagMs: Summary;
}

const MAX_REQUESTS_PER_JOB = 5_000_000;
const MAX_OPEN_EXCHANGES = 1000;
const ERROR_SAMPLES = 5;

/** Collects the outcomes of the exchanges of one job. */
class Tally {
  readonly totalMs: number[] = [];
  readonly firstByteMs: number[] = [];
  readonly sendLagMs: number[] = [];
  readonly errorSamples: string[] = [];
  errors = 0;

  fail(problem: string): void {
    this.errors += 1;
    if (this.errorSamples.length < ERROR_SAMPLES) this.errorSamples.push(problem);
  }

  add(dueMs: number, sentMs: number, done: Exchange): void {
    if (done.problem !== null) {
      this.fail(done.problem);
      return;
    }
    this.sendLagMs.push(sentMs - dueMs);
    this.totalMs.push(done.endMs - dueMs);
    this.firstByteMs.push(done.firstByteMs - dueMs);
  }
}

async function run(agent: Agent, job: LoadJob): Promise<LoadResult> {
  const tally = new Tally();
  const startMs = performance.now();
  const send = async (dueMs: number): Promise<void> => {
    const sentMs = performance.now();
    tally.add(dueMs, sentMs, await exchange(agent, job));
  };
  const loop = job.loop;
  if (loop.kind === 'closed') await runClosed(startMs + job.durationMs, loop.callers, send);
  else await runOpen(startMs, startMs + job.durationMs, 1000 / loop.perSecond, send, tally);
  const requests = tally.totalMs.length;
  return {
    requests: requests + tally.errors,
    errors: tally.errors,
    errorSamples: tally.errorSamples,
    requestsPerSecond: (requests * 1000) / (performance.now() - startMs),
    totalMs: summarize(tally.totalMs),
    firstByteMs: summarize(tally.firstByteMs),
    sendLagMs: summarize(tally.sendLagMs),
  };
}

async function runClosed(endMs: number, callers: number, send: (dueMs: number) => Promise<void>): Promise<void> {
  let sent = 0;
  const call = async (): Promise<void> => {
    for (let nowMs = performance.now(); nowMs < endMs && sent < MAX_REQUESTS_PER_JOB; nowMs = performance.now()) {
      sent += 1;
      await send(nowMs);
    }
  };
  await Promise.all(Array.from({ length: callers }, call));
}

/** Sends requests on schedule, whether or not earlier ones were answered; too many open ones count as errors. */
async function runOpen(
  startMs: number,
  endMs: number,
  intervalMs: number,
  send: (dueMs: number) => Promise<void>,
  tally: Tally,
): Promise<void> {
  const open = new Set<Promise<void>>();
  let dueMs = startMs;
  for (let sent = 0; dueMs < endMs && sent < MAX_REQUESTS_PER_JOB; sent += 1, dueMs = startMs + sent * intervalMs) {
    const waitMs = dueMs - performance.now();
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
    if (open.size >= MAX_OPEN_EXCHANGES) {
      tally.fail('not sent: too many requests are still unanswered');
      continue;
    }
    const sending: Promise<void> = send(dueMs).finally(() => open.delete(sending));
    open.add(sending);
  }
  await Promise.all(open);
}

const agents = new Map<string, Agent>();

function agentFor(origin: string): Agent {
  let agent = agents.get(origin);
  if (!agent) {
    agent = new Agent({ connections: MAX_OPEN_EXCHANGES, pipelining: 1, headersTimeout: 30_000, bodyTimeout: 30_000 });
    agents.set(origin, agent);
  }
  return agent;
}

process.on('message', (job: LoadJob) => {
  void run(agentFor(job.origin), job).then((result) => process.send?.(result));
});
exitWithParent();
