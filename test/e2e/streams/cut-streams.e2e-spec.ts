/** A stream whose provider dies at byte n, for every n. */
import type { ServerResponse } from 'node:http';
import { FakeUpstream } from '../../conformance/fake-upstream';
import { FULL, report, until } from '../../faults/figures';
import { type CallReply, TestGateway, type TestCustomer } from '../../harness/gateway';
import { settle } from '../../harness/event-loop';
import { createCatalog } from '../../harness/upstream-models';
import { GOLDEN_COST_MICRO, type GoldenEvent, goldenStream } from './golden-stream';

/** `end`: a clean end at the HTTP level. `cut`: the connection ends within a body. `reset`: RST. */
const DEATHS = ['end', 'cut', 'reset'] as const;
type Death = (typeof DEATHS)[number];

interface Case {
  readonly lineEnd: '\n' | '\r\n';
  readonly death: Death;
  readonly bytes: number;
}

interface Outcome extends Case {
  readonly reply: CallReply;
}

const STREAMS = { '\n': goldenStream('\n'), '\r\n': goldenStream('\r\n') };
/** A prime, so that the short form covers every part of the chunks. */
const STEP = FULL ? 1 : 3;
const CLIENTS = 24;
/** The first bytes are visible before the end, as when a model pauses between tokens. */
const PAUSE_MS = 4;

const catalog = createCatalog();
let upstream: FakeUpstream;
let gateway: TestGateway;
let customer: TestCustomer;
let outcomes: readonly Outcome[];

beforeAll(async () => {
  upstream = await FakeUpstream.start();
  upstream.answer = (response, { body }) => {
    const prompt = JSON.parse(body).messages[0].content;
    play(response, JSON.parse(prompt) as Case);
  };
  gateway = await TestGateway.start({
    OPENAI_COMPATIBLE_BASE_URL: `${upstream.origin}/v1`,
    CATALOG_DIR: catalog.path,
    CIRCUIT_BREAKER_FAILURES: '0',
    LOG_LEVEL: 'silent',
  });
  customer = await gateway.customer({}, 1_000_000_000n);
  const startedAtMs = performance.now();
  outcomes = await runAll();
  report('F-51', { streams: outcomes.length, seconds: Math.round((performance.now() - startedAtMs) / 1_000) });
});
afterAll(async () => {
  await gateway.stop();
  await upstream.stop();
  catalog.remove();
});

/** Sends the first bytes of the stream in two pieces and then dies. */
function play(response: ServerResponse, { lineEnd, death, bytes }: Case): void {
  const sent = bytesOf(STREAMS[lineEnd]).subarray(0, bytes);
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write(sent.subarray(0, bytes / 2));
  void settle(PAUSE_MS).then(() => {
    const rest = sent.subarray(bytes / 2);
    if (death === 'end') response.end(rest);
    else response.write(rest, () => (death === 'cut' ? response.socket?.end() : response.socket?.resetAndDestroy()));
  });
}

function cases(): Case[] {
  const all: Case[] = [];
  for (const lineEnd of ['\n', '\r\n'] as const) {
    const length = bytesOf(STREAMS[lineEnd]).length;
    for (const [offset, death] of DEATHS.entries()) {
      for (let bytes = offset % STEP; bytes <= length; bytes += STEP) all.push({ lineEnd, death, bytes });
    }
    all.push({ lineEnd, death: 'end', bytes: length });
  }
  return all;
}

async function runAll(): Promise<Outcome[]> {
  const waiting = cases();
  const done: Outcome[] = [];
  const client = async (): Promise<void> => {
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      const body = { model: 'local/chat', stream: true, messages: [{ role: 'user', content: JSON.stringify(next) }] };
      let reply: CallReply;
      // Retried when a busy machine refuses the request.
      do reply = await gateway.call('/v1/chat/completions', { key: customer.key, body });
      while (reply.status === 503);
      done.push({ ...next, reply });
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
  return done;
}

/** The response that a client assembled from its chunks. */
interface Answer {
  readonly text: string;
  readonly toolArguments: string;
  readonly finished: boolean;
  readonly failure: string | null;
}

function read({ reply }: Outcome): Answer {
  let [text, toolArguments, finished] = ['', '', false];
  let failure: string | null = reply.status === 200 ? null : reply.json.error.code;
  for (const data of reply.events.filter((each) => each !== '[DONE]')) {
    const document = JSON.parse(data);
    failure ??= document.error?.code ?? null;
    const [choice] = document.choices ?? [];
    text += choice?.delta.content ?? '';
    toolArguments += choice?.delta.tool_calls?.[0].function.arguments ?? '';
    finished ||= choice?.finish_reason != null;
  }
  return { text, toolArguments, finished, failure };
}

/**
 * The last complete event. A CR already ends a line; on a clean end, an event that lacks only its line endings is
 * complete too.
 */
function lastArrived({ lineEnd, death, bytes }: Case): GoldenEvent | undefined {
  const dispensable = death === 'end' ? 2 * lineEnd.length : lineEnd.length - 1;
  return STREAMS[lineEnd].findLast(
    (_event, index, events) => bytesOf(events.slice(0, index + 1)).length - dispensable <= bytes,
  );
}

function bytesOf(events: readonly GoldenEvent[]): Buffer {
  return Buffer.concat(events.map(({ bytes }) => bytes));
}

it('plays one stream per byte at which the provider can die', () => {
  expect(outcomes.length).toBeGreaterThan(FULL ? 7_000 : 2_000);
  expect(upstream.received).toHaveLength(outcomes.length);
});

it('ends every started stream with [DONE], and with an error unless the finish reason arrived', () => {
  const streamed = outcomes.filter(({ reply }) => reply.status === 200);
  const wrong = streamed.filter((outcome) => {
    const { finished, failure } = read(outcome);
    return outcome.reply.events.at(-1) !== '[DONE]' || finished !== (failure === null);
  });
  expect(wrong.map(describeCase)).toEqual([]);
  expect(streamed.length).toBeGreaterThan(outcomes.length / 2);
});

it('returns an HTTP error when no part of the response arrived', () => {
  const early = outcomes.filter(({ reply }) => reply.status !== 200);
  expect(new Set(early.map(({ reply }) => `${reply.status} ${reply.json.error.code}`))).toEqual(
    new Set(['502 provider_disconnect']),
  );
  expect(early.length).toBeGreaterThan(10);
});

it('distinguishes an end without a finish reason from a broken connection', () => {
  const codes = DEATHS.map((death) => {
    const failed = outcomes.filter((outcome) => outcome.death === death && outcome.reply.status === 200);
    return [...new Set(failed.map((outcome) => read(outcome).failure).filter((code) => code !== null))];
  });
  expect(codes).toEqual([['provider_disconnect'], ['stream_interrupted'], ['stream_interrupted']]);
});

it('delivers exactly the received text and never half a character', () => {
  const wrong = outcomes.filter((outcome) => {
    if (outcome.reply.status !== 200) return false;
    const { text, toolArguments, finished } = read(outcome);
    const arrived = lastArrived(outcome);
    return text !== arrived?.text || toolArguments !== arrived.toolArguments || finished !== arrived.finished;
  });
  expect(wrong.map(describeCase)).toEqual([]);
  expect(outcomes.some(({ reply }) => reply.text.includes('\uFFFD'))).toBe(false);
});

it('charges the delivered tokens exactly, and nothing when nothing was delivered', async () => {
  const rows = await gateway.rows<Record<string, string>>(
    'SELECT id, charged_micro, input_text, output_text, usage_estimated FROM usage_record',
  );
  const receipts = new Map(rows.map((row) => [`req_${row['id']?.replaceAll('-', '')}`, row]));
  const wrong = outcomes.filter((outcome) => {
    const receipt = receipts.get(outcome.reply.headers.get('x-request-id') ?? '');
    return receipt === undefined || Number(receipt['charged_micro']) !== owed(outcome, Number(receipt['input_text']));
  });
  expect(wrong.map(describeCase)).toEqual([]);
  const exact = rows.filter((row) => Number(row['charged_micro']) === GOLDEN_COST_MICRO && !row['usage_estimated']);
  expect(exact.length).toBeGreaterThan(5);
});

it('leaves no hold and a valid ledger', async () => {
  const held = () => gateway.rows(`SELECT id FROM reservation WHERE state = 'held'`);
  await until('the end of all holds', 5_000, async () => (await held()).length === 0);
  expect(await gateway.violations()).toEqual([]);
});

function owed(outcome: Outcome, inputTokens: number): number {
  const { text, toolArguments } = read(outcome);
  const outputBytes = Buffer.byteLength(text + toolArguments);
  const last = outcome.reply.events.findLast((data) => data !== '[DONE]');
  const { usage } = JSON.parse(last ?? '{}');
  if (usage !== undefined && usage.x_llm_usage_estimated !== true) return GOLDEN_COST_MICRO;
  return outputBytes === 0 ? 0 : inputTokens + 2 * Math.ceil(outputBytes / 4);
}

function describeCase(outcome: Outcome): object {
  const { lineEnd, death, bytes, reply } = outcome;
  return { lineEnd, death, bytes, status: reply.status, end: reply.text.slice(-300) };
}
