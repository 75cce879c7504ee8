/** A stream whose provider dies at byte n, for every n, in every dialect. */
import type { ServerResponse } from 'node:http';
import { isDeepStrictEqual } from 'node:util';
import { FakeUpstream } from '../../conformance/fake-upstream';
import { FULL, report, until } from '../../faults/figures';
import { type CallReply, TestGateway, type TestCustomer } from '../../harness/gateway';
import { settle } from '../../harness/event-loop';
import { createCatalog, DIALECT_MODELS } from '../../harness/upstream-models';
import {
  type Delivered,
  type Dialect,
  DIALECTS,
  GOLDEN_COST_MICRO,
  type GoldenEvent,
  goldenStream,
} from './golden-stream';

/** `end`: a clean end at the HTTP level. `cut`: the connection ends within a body. `reset`: RST. */
const DEATHS = ['end', 'cut', 'reset'] as const;
type Death = (typeof DEATHS)[number];

interface Case {
  readonly dialect: Dialect;
  readonly lineEnd: '\n' | '\r\n';
  readonly death: Death;
  readonly bytes: number;
}

interface Outcome extends Case {
  readonly reply: CallReply;
}

/** Line ends are the decoder's, which all dialects share. */
const STREAMS = DIALECTS.flatMap((dialect) =>
  (dialect === 'openai-chat' ? (['\n', '\r\n'] as const) : (['\n'] as const)).map((lineEnd) => ({
    dialect,
    lineEnd,
    events: goldenStream(dialect, lineEnd),
  })),
);
/** In the short form each byte has one of the three deaths. */
const STEP = FULL ? 1 : DEATHS.length;
const MODELS: Readonly<Record<Dialect, string>> = {
  'openai-chat': 'local/chat',
  'openai-responses': 'local/responses',
  'anthropic-messages': 'local/messages',
  'gemini-generate': 'local/generate',
};
const CLIENTS = 24;
/** The full form has 25,000 streams. */
const FULL_FORM_MS = 600_000;
/** The first bytes are visible before the end, as when a model pauses between tokens. */
const PAUSE_MS = 4;

const catalog = createCatalog(DIALECT_MODELS);
let upstream: FakeUpstream;
let gateway: TestGateway;
let customer: TestCustomer;
let outcomes: readonly Outcome[];

beforeAll(async () => {
  upstream = await FakeUpstream.start();
  upstream.answer = (response, { body }) => play(response, caseIn(body));
  gateway = await TestGateway.start({
    OPENAI_COMPATIBLE_BASE_URL: `${upstream.origin}/v1`,
    OPENAI_BASE_URL: `${upstream.origin}/v1`,
    OPENAI_API_KEY: 'sk-test',
    ANTHROPIC_BASE_URL: upstream.origin,
    ANTHROPIC_API_KEY: 'sk-test',
    GEMINI_BASE_URL: `${upstream.origin}/v1beta`,
    GEMINI_API_KEY: 'sk-test',
    CATALOG_DIR: catalog.path,
    CIRCUIT_BREAKER_FAILURES: '0',
    LOG_LEVEL: 'silent',
  });
  customer = await gateway.customer({}, 1_000_000_000n);
  const startedAtMs = performance.now();
  outcomes = await runAll();
  const counts = Object.fromEntries(DIALECTS.map((dialect) => [dialect, ofDialect(dialect).length]));
  const seconds = Math.round((performance.now() - startedAtMs) / 1_000);
  report('F-51', { streams: outcomes.length, ...counts, seconds });
}, FULL_FORM_MS);
afterAll(async () => {
  await gateway.stop();
  await upstream.stop();
  catalog.remove();
});

/** The prompt, wherever a dialect has it. */
function caseIn(body: string): Case {
  const [prompt] = /\{\\"dialect[^}]*\}/.exec(body) ?? [];
  return JSON.parse(JSON.parse(`"${prompt}"`) as string) as Case;
}

function eventsOf({ dialect, lineEnd }: Case): readonly GoldenEvent[] {
  return STREAMS.find((each) => each.dialect === dialect && each.lineEnd === lineEnd)?.events ?? [];
}

function ofDialect(dialect: Dialect): readonly Outcome[] {
  return outcomes.filter((outcome) => outcome.dialect === dialect);
}

/** Sends the first bytes of the stream in two pieces and then dies. */
function play(response: ServerResponse, { death, bytes, ...stream }: Case): void {
  const sent = bytesOf(eventsOf({ death, bytes, ...stream })).subarray(0, bytes);
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
  for (const { dialect, lineEnd, events } of STREAMS) {
    const { length } = bytesOf(events);
    for (const [offset, death] of DEATHS.entries()) {
      for (let bytes = offset % STEP; bytes <= length; bytes += STEP) all.push({ dialect, lineEnd, death, bytes });
    }
    all.push({ dialect, lineEnd, death: 'end', bytes: length });
  }
  return all;
}

async function runAll(): Promise<Outcome[]> {
  const waiting = cases();
  const done: Outcome[] = [];
  const client = async (): Promise<void> => {
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      const body = {
        model: MODELS[next.dialect],
        stream: true,
        messages: [{ role: 'user', content: JSON.stringify(next) }],
      };
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
interface Answer extends Delivered {
  readonly failure: string | null;
}

function read({ reply }: Outcome): Answer {
  let [text, reasoning, toolArguments, finished] = ['', '', '', false];
  let failure: string | null = reply.status === 200 ? null : reply.json.error.code;
  for (const data of reply.events.filter((each) => each !== '[DONE]')) {
    const document = JSON.parse(data);
    failure ??= document.error?.code ?? null;
    const [choice] = document.choices ?? [];
    text += choice?.delta.content ?? '';
    reasoning += choice?.delta.reasoning_content ?? '';
    toolArguments += choice?.delta.tool_calls?.[0].function.arguments ?? '';
    finished ||= choice?.finish_reason != null;
  }
  return { text, reasoning, toolArguments, finished, failure };
}

/**
 * The last complete event. A CR already ends a line; on a clean end, an event that lacks only its line endings is
 * complete too.
 */
function lastArrived(outcome: Case): GoldenEvent | undefined {
  const { lineEnd, death, bytes } = outcome;
  const dispensable = death === 'end' ? 2 * lineEnd.length : lineEnd.length - 1;
  return eventsOf(outcome).findLast(
    (_event, index, events) => bytesOf(events.slice(0, index + 1)).length - dispensable <= bytes,
  );
}

function bytesOf(events: readonly GoldenEvent[]): Buffer {
  return Buffer.concat(events.map(({ bytes }) => bytes));
}

it.each(STREAMS)('plays a stream for each byte of $dialect at which the provider can die', (stream) => {
  const played = ofDialect(stream.dialect).filter(({ lineEnd }) => lineEnd === stream.lineEnd);
  const { length } = bytesOf(stream.events);
  expect(new Set(played.map(({ bytes }) => bytes))).toEqual(new Set(Array.from({ length: length + 1 }, (_, at) => at)));
});

it('ends every started stream with [DONE], and with an error unless the finish reason arrived', () => {
  expect(upstream.received).toHaveLength(outcomes.length);
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
    const { failure: _failure, ...delivered } = read(outcome);
    const { bytes: _bytes, ...arrived } = lastArrived(outcome) ?? {};
    return !isDeepStrictEqual(delivered, arrived);
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
  for (const dialect of DIALECTS) {
    const exact = ofDialect(dialect).filter(({ reply }) => {
      const receipt = receipts.get(reply.headers.get('x-request-id') ?? '');
      return Number(receipt?.['charged_micro']) === GOLDEN_COST_MICRO && !receipt?.['usage_estimated'];
    });
    expect(exact.length).toBeGreaterThan(0);
  }
});

it('leaves no hold and a valid ledger', async () => {
  const held = () => gateway.rows(`SELECT id FROM reservation WHERE state = 'held'`);
  await until('the end of all holds', 5_000, async () => (await held()).length === 0);
  expect(await gateway.violations()).toEqual([]);
});

function owed(outcome: Outcome, inputTokens: number): number {
  const { text, reasoning, toolArguments } = read(outcome);
  const outputBytes = Buffer.byteLength(text + reasoning + toolArguments);
  const last = outcome.reply.events.findLast((data) => data !== '[DONE]');
  const { usage } = JSON.parse(last ?? '{}');
  if (usage !== undefined && usage.x_llm_usage_estimated !== true) return GOLDEN_COST_MICRO;
  return outputBytes === 0 ? 0 : inputTokens + 2 * Math.ceil(outputBytes / 4);
}

function describeCase(outcome: Outcome): object {
  const { dialect, lineEnd, death, bytes, reply } = outcome;
  return { dialect, lineEnd, death, bytes, status: reply.status, end: reply.text.slice(-300) };
}
