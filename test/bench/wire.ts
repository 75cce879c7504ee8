/**
 * The traffic of every measurement: one request, one fixed reply, one price. The upstream sends the reply, the load
 * generator checks it, and the ledger check multiplies its price.
 */
export const MODEL_NAME = 'bench';
export const MODEL_ID = `openai-compatible/${MODEL_NAME}`;
const STREAM_CHUNKS = 100;

const INPUT_MICRO_PER_TOKEN = 1;
const OUTPUT_MICRO_PER_TOKEN = 2;
const USAGE = { prompt_tokens: 50, completion_tokens: STREAM_CHUNKS, total_tokens: 50 + STREAM_CHUNKS };
/** Cost of a complete reply, streamed or not. */
export const PRICE_MICRO =
  USAGE.prompt_tokens * INPUT_MICRO_PER_TOKEN + USAGE.completion_tokens * OUTPUT_MICRO_PER_TOKEN;

/** The catalogue file with the upstream as a priced model. */
export const CATALOG_YAML = `- id: ${MODEL_ID}
  display_name: Bench
  modality: text
  input_modalities: [text]
  output_modalities: [text]
  status: active
  context: 128000
  max_output: 4096
  features: {tools: true, streaming: true, sampling: true}
  deployments:
    - {provider: openai-compatible, upstream_model: ${MODEL_NAME}}
  prices:
    - effective_from: 2026-01-01
      currency: USD
      source: bench
      checked_at: 2026-01-01
      tokens:
        per_1m_micro: {input: ${INPUT_MICRO_PER_TOKEN * 1_000_000}, output: ${OUTPUT_MICRO_PER_TOKEN * 1_000_000}}
`;

const MESSAGES = [
  { role: 'system', content: 'You are a measuring instrument. Answer in one sentence.' },
  { role: 'user', content: 'How long is a piece of string, to the nearest millimetre, and how sure are you of it?' },
];
const STREAM_MARK = '"stream":true';

/** The chat completion request, as JSON text. */
export function requestBody(stream: boolean): string {
  const common = { model: MODEL_ID, messages: MESSAGES, max_tokens: 2 * STREAM_CHUNKS, temperature: 0.5 };
  return JSON.stringify(stream ? { ...common, stream: true, stream_options: { include_usage: true } } : common);
}

/** Whether a forwarded body asks for a stream, without parsing it: the upstream must stay cheap. */
export function asksForStream(body: Buffer): boolean {
  return body.includes(STREAM_MARK);
}

const CREATED = 1_780_000_000;
const IDENTITY = { id: 'chatcmpl-bench-0123456789abcdef', created: CREATED, model: MODEL_NAME };

export const PLAIN_REPLY = Buffer.from(
  JSON.stringify({
    ...IDENTITY,
    object: 'chat.completion',
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: 'As long as you cut it, give or take the width of the blade.' },
        logprobs: null,
        finish_reason: 'stop',
      },
    ],
    usage: USAGE,
    system_fingerprint: 'fp_bench',
  }),
);

/** Every event of a streamed reply as its own buffer: the chunks of text, the finish, the usage and the end mark. */
export const STREAM_EVENTS: readonly Buffer[] = [
  ...Array.from({ length: STREAM_CHUNKS }, (_, index) =>
    event({
      choices: [{ index: 0, delta: index === 0 ? { role: 'assistant', content: 'As' } : { content: ` w${index}` } }],
    }),
  ),
  event({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }),
  event({ choices: [], usage: USAGE }),
  Buffer.from('data: [DONE]\n\n'),
];

function event(fields: object): Buffer {
  const chunk = { ...IDENTITY, object: 'chat.completion.chunk', ...fields };
  return Buffer.from(`data: ${JSON.stringify(chunk)}\n\n`);
}
