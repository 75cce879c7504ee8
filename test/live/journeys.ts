/** What a client does with a model, through the official client. Each journey throws when the answer is not usable. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type OpenAI from 'openai';
import { sniffImageType } from '../../src/core/types/image-format';
import type { CatalogEntry } from '../../src/models/catalog.schema';
import { silentWav } from '../conformance/media-requests';
import { onePagePdf } from './one-page-pdf';

type Message = OpenAI.ChatCompletionMessageParam;
type ChatBody = Omit<OpenAI.ChatCompletionCreateParamsNonStreaming, 'model' | 'messages' | 'stream'>;

/** Reasoning counts towards it. */
const MAX_TOKENS = 4_096;
/** 64 x 64 pixels. */
const RED_SQUARE =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAEAAAABACAIAAAAlC+aJAAAAS0lEQVR42u3PQQkAAAgAsetfWiP4FgYrsKZeS0BAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEDgsqnc8OJg6Ln3AAAAAElFTkSuQmCC';
const objectOf = (...names: string[]) => ({
  type: 'object',
  properties: Object.fromEntries(names.map((name) => [name, { type: 'string' }])),
  required: names,
  additionalProperties: false,
});
const CAPITAL = objectOf('city', 'country');
const toolOf = (name: string, description: string, ...parameters: string[]): OpenAI.ChatCompletionFunctionTool => ({
  type: 'function',
  function: { name, description, parameters: objectOf(...parameters) },
});
const WEATHER = toolOf('get_temperature', 'In degrees Celsius.', 'city');
/** Each needs the result of the one before. */
const CHAIN = [
  toolOf('find_station', 'The weather station of a city.', 'city'),
  toolOf('find_sensor', 'The thermometer of a station.', 'station'),
  toolOf('read_sensor', 'The temperature at a thermometer.', 'sensor'),
];
const CHAIN_RESULTS: Readonly<Record<string, string>> = {
  find_station: '{"station":"station-7"}',
  find_sensor: '{"sensor":"sensor-3"}',
  read_sensor: '{"celsius":17}',
};
/** More than a sensible model needs. */
const MAX_STEPS = 8;

const JOB_PAUSE_MS = 5_000;
const JOB_TIMEOUT_MS = 900_000;

interface LiveJob {
  readonly status: string;
  readonly error: { readonly message: string } | null;
  readonly cost_micro: number | null;
  readonly artifacts: readonly { readonly size_bytes: number }[];
}

/** A model at a vendor, called through the gateway. */
export class LiveModel {
  /** What the requests of a journey used together. */
  readonly spending = { costMicro: 0, promptTokens: 0, completionTokens: 0, reasoningTokens: 0 };

  constructor(
    private readonly client: OpenAI,
    readonly entry: CatalogEntry,
    private readonly vendor: string,
  ) {}

  async ask(messages: readonly Message[], body: ChatBody = {}): Promise<OpenAI.ChatCompletionMessage> {
    const { choices, usage } = await this.client.chat.completions.create({ ...this.bodyOf(messages), ...body });
    this.spend(usage);
    assert.ok(choices[0], 'the answer has no choice');
    return choices[0].message;
  }

  /** Calls tools until the model answers. Returns its answer and the calls, by step. */
  async useTools(
    question: string,
    { tools, resultOf, ...body }: ChatBody & { readonly resultOf: (name: string) => string },
  ): Promise<{ text: string; steps: readonly (readonly { name: string; input: string }[])[] }> {
    const messages: Message[] = [{ role: 'user', content: question }];
    const steps: { name: string; input: string }[][] = [];
    while (steps.length <= MAX_STEPS) {
      const answer = await this.ask(messages, { tools, ...body });
      const calls = (answer.tool_calls ?? []).filter((call) => call.type === 'function');
      if (calls.length === 0) return { text: answer.content ?? '', steps };
      messages.push(answer);
      for (const { id, function: called } of calls) {
        messages.push({ role: 'tool', tool_call_id: id, content: resultOf(called.name) });
      }
      steps.push(calls.map(({ function: { name, arguments: input } }) => ({ name, input })));
    }
    throw new Error(`the model still calls tools after ${MAX_STEPS} steps`);
  }

  /** Disconnects after the first text. Returns whether the answer had ended by itself. */
  async abort(messages: readonly Message[]): Promise<boolean> {
    const stream = await this.client.chat.completions.create({ ...this.bodyOf(messages), stream: true });
    let finished = false;
    for await (const { choices } of stream) {
      finished ||= choices[0]?.finish_reason != null;
      if (choices[0]?.delta.content) stream.controller.abort();
    }
    return finished;
  }

  async stream(messages: readonly Message[]): Promise<string> {
    const options = { stream: true, stream_options: { include_usage: true } } as const;
    let text = '';
    let finishReason: string | null = null;
    let usage: OpenAI.CompletionUsage | null | undefined;
    for await (const chunk of await this.client.chat.completions.create({ ...this.bodyOf(messages), ...options })) {
      text += chunk.choices[0]?.delta.content ?? '';
      finishReason = chunk.choices[0]?.finish_reason ?? finishReason;
      usage = chunk.usage ?? usage;
    }
    this.spend(usage);
    assert.equal(finishReason, 'stop', 'the finish reason of the stream');
    return text;
  }

  async embed(input: string[]): Promise<number[][]> {
    const { data, usage } = await this.client.embeddings.create({ model: this.entry.id, input, ...this.routing() });
    this.spend({ ...usage, completion_tokens: 0 });
    return data.map(({ embedding }) => embedding);
  }

  /** @returns the bytes of an image */
  async draw(prompt: string): Promise<Buffer> {
    const { data, usage } = await this.client.images.generate({
      model: this.entry.id,
      prompt,
      response_format: 'b64_json',
      ...this.routing(),
    });
    this.spendOnMedia(usage);
    return Buffer.from(data?.[0]?.b64_json ?? '', 'base64');
  }

  /** @returns the bytes of a file in the first format of the model */
  async speak(input: string): Promise<Buffer> {
    const { media } = this.entry;
    const response = await this.client.audio.speech.create({
      model: this.entry.id,
      input,
      voice: media?.voices?.[0] ?? 'alloy',
      response_format: (media?.formats?.[0] ?? 'mp3') as OpenAI.Audio.SpeechCreateParams['response_format'],
      ...this.routing(),
    });
    return Buffer.from(await response.arrayBuffer());
  }

  /** With the times of words where the model has them. */
  async transcribe(file: File): Promise<OpenAI.Audio.TranscriptionVerbose> {
    const isTimed = this.entry.features.timestamps?.includes('word') === true;
    // Its types know the models of OpenAI only.
    const transcript = await this.client.audio.transcriptions.create({
      model: this.entry.id,
      file,
      language: 'en',
      // Both formats have the text and what it cost.
      response_format: (isTimed ? 'verbose_json' : 'json') as 'verbose_json',
      ...(isTimed && { timestamp_granularities: ['word' as const] }),
      ...(this.routing() as { routing: never }),
    });
    this.spendOnMedia(transcript.usage);
    return transcript;
  }

  /** Submits a job and waits for its end. @returns the sizes of its files in bytes */
  async makeJob(kind: 'video' | 'music', prompt: string): Promise<number[]> {
    const body = { model: this.entry.id, prompt, ...this.routing() };
    const headers = { 'idempotency-key': randomUUID() };
    const { id } = await this.client.post<{ id: string }>(`/${kind}/generations`, { body, headers });
    const deadlineMs = performance.now() + JOB_TIMEOUT_MS;
    for (;;) {
      const { status, error, cost_micro: costMicro, artifacts } = await this.client.get<LiveJob>(`/jobs/${id}`);
      if (status === 'succeeded') {
        this.spending.costMicro += costMicro ?? NaN;
        return artifacts.map(({ size_bytes: sizeBytes }) => sizeBytes);
      }
      const isWaiting = status === 'queued' || status === 'submitted' || status === 'running';
      assert.ok(isWaiting && performance.now() < deadlineMs, `the job is ${status}: ${error?.message ?? 'too late'}`);
      await delay(JOB_PAUSE_MS);
    }
  }

  private bodyOf(messages: readonly Message[]): OpenAI.ChatCompletionCreateParamsNonStreaming {
    return {
      model: this.entry.id,
      messages: [...messages],
      max_completion_tokens: Math.min(MAX_TOKENS, this.entry.max_output ?? MAX_TOKENS),
      ...this.routing(),
    };
  }

  private routing(): object {
    return { routing: { only: [this.vendor], allow_fallbacks: false } };
  }

  private spendOnMedia(usage: object | null | undefined): void {
    assert.ok(usage, 'the answer has no usage');
    this.spending.costMicro += (usage as { x_llm_cost_micro?: number }).x_llm_cost_micro ?? NaN;
  }

  private spend(usage: OpenAI.CompletionUsage | null | undefined): void {
    assert.ok(usage, 'the answer has no usage');
    this.spending.costMicro += (usage as { x_llm_cost_micro?: number }).x_llm_cost_micro ?? NaN;
    this.spending.promptTokens += usage.prompt_tokens;
    this.spending.completionTokens += usage.completion_tokens;
    this.spending.reasoningTokens += usage.completion_tokens_details?.reasoning_tokens ?? 0;
  }
}

export interface Journey {
  readonly name: string;
  /** A model may be served by another deployment when a request has tools. */
  readonly hasTools?: true;
  /** Whether the catalogue says that the model supports it. */
  isOffered(entry: CatalogEntry): boolean;
  run(model: LiveModel): Promise<void>;
}

const user = (content: OpenAI.ChatCompletionUserMessageParam['content']): Message => ({ role: 'user', content });
const effortOf = ({ features }: CatalogEntry) => features.reasoning?.find((effort) => effort !== 'none');
const PONG = [user('Answer with the single word "pong".')];

export const JOURNEYS: readonly Journey[] = [
  {
    name: 'chat',
    isOffered: ({ modality }) => modality === 'text',
    run: async (model) => assert.match((await model.ask(PONG)).content ?? '', /pong/i),
  },
  {
    name: 'stream',
    isOffered: ({ modality, features }) => modality === 'text' && features.streaming === true,
    run: async (model) => assert.match(await model.stream(PONG), /pong/i),
  },
  {
    name: 'abort',
    isOffered: ({ modality, features }) => modality === 'text' && features.streaming === true,
    async run(model) {
      const finished = await model.abort([user('Write the numbers from 1 to 500, one per line.')]);
      assert.equal(finished, false, 'the answer had ended before the disconnect');
    },
  },
  {
    name: 'tools over three steps',
    hasTools: true,
    isOffered: ({ features }) => features.tools === true,
    async run(model) {
      const { text, steps } = await model.useTools('Use the tools to measure the temperature in Oslo, then state it.', {
        tools: CHAIN,
        resultOf: (name) => CHAIN_RESULTS[name] ?? '{}',
        reasoning_effort: effortOf(model.entry) as OpenAI.ReasoningEffort | undefined,
      });
      const names = steps.flat().map(({ name }) => name);
      assert.deepEqual([...new Set(names)], Object.keys(CHAIN_RESULTS));
      assert.match(steps[0]?.[0]?.input ?? '', /oslo/i);
      assert.match(text, /17/);
    },
  },
  {
    name: 'parallel tools',
    hasTools: true,
    isOffered: ({ features }) => features.parallel_tools === true,
    async run(model) {
      const { text, steps } = await model.useTools(
        'Look up the temperatures in Bern and Rome at once, then state them.',
        {
          tools: [WEATHER],
          resultOf: () => '{"celsius":17}',
        },
      );
      const inputs = JSON.stringify(steps[0]?.map(({ input }) => input) ?? []);
      assert.match(inputs, /bern.*rome|rome.*bern/i, 'the cities of the first step');
      assert.match(text, /17/);
    },
  },
  {
    name: 'json_schema',
    isOffered: ({ features }) => features.json_schema === true,
    async run(model) {
      const { content } = await model.ask([user('Which city is the capital of France? Answer in JSON.')], {
        response_format: { type: 'json_schema', json_schema: { name: 'capital', strict: true, schema: CAPITAL } },
      });
      const answer = JSON.parse(content ?? '') as Record<string, unknown>;
      assert.deepEqual(Object.keys(answer).toSorted(), ['city', 'country']);
      assert.match(String(answer.city), /paris/i);
    },
  },
  {
    name: 'image input',
    isOffered: ({ features, input_modalities: inputs }) => features.vision === true && inputs.includes('image'),
    async run(model) {
      const image = { type: 'image_url', image_url: { url: RED_SQUARE } } as const;
      const { content } = await model.ask([user([{ type: 'text', text: 'Name the colour of this square.' }, image])]);
      assert.match(content ?? '', /red/i);
    },
  },
  {
    name: 'PDF input',
    isOffered: ({ modality, input_modalities: inputs }) => modality === 'text' && inputs.includes('pdf'),
    async run(model) {
      const data = `data:application/pdf;base64,${onePagePdf('The secret word is zebra').toString('base64')}`;
      const file = { type: 'file', file: { filename: 'word.pdf', file_data: data } } as const;
      const { content } = await model.ask([user([file, { type: 'text', text: 'Which animal does this file name?' }])]);
      assert.match(content ?? '', /zebra/i);
    },
  },
  {
    name: 'reasoning',
    isOffered: (entry) => effortOf(entry) !== undefined,
    async run(model) {
      const { content } = await model.ask([user('Multiply 17 by 23. Answer with the number.')], {
        reasoning_effort: effortOf(model.entry) as OpenAI.ReasoningEffort,
      });
      assert.match(content ?? '', /391/);
    },
  },
  {
    name: 'embeddings',
    isOffered: ({ modality }) => modality === 'embedding',
    async run(model) {
      const [one = [], two = []] = await model.embed(['a red apple', 'the law of the sea']);
      assert.ok(one.length > 0 && one.length === two.length, `vectors of ${one.length} and ${two.length} numbers`);
      assert.ok([...one, ...two].every(Number.isFinite), 'a vector is not numeric');
    },
  },
  {
    name: 'images',
    isOffered: ({ modality }) => modality === 'image',
    async run(model) {
      assert.ok(sniffImageType(await model.draw('A red square.')) !== null, 'the answer is not an image');
    },
  },
  {
    name: 'speech',
    isOffered: ({ modality }) => modality === 'speech',
    async run(model) {
      const audio = await model.speak('Hello.');
      assert.ok(audio.length > 1_000, `${audio.length} bytes of audio`);
    },
  },
  ...(['video', 'music'] as const).map((kind): Journey => ({
    name: kind,
    isOffered: ({ modality }) => modality === kind,
    async run(model) {
      const sizes = await model.makeJob(kind, kind === 'video' ? 'A red ball rolls over grass.' : 'A slow waltz.');
      assert.ok(sizes.length > 0 && sizes.every((bytes) => bytes > 1_000), `files of ${sizes.join(', ')} bytes`);
    },
  })),
  {
    name: 'transcription',
    isOffered: ({ modality }) => modality === 'transcription',
    async run(model) {
      // Silence: only the request is tested, not the accuracy.
      const file = new File([new Uint8Array(silentWav())], 'silence.wav', { type: 'audio/wav' });
      const { text, words } = await model.transcribe(file);
      assert.equal(typeof text, 'string');
      assert.ok(words === undefined || words.every(({ start, end }) => start <= end), 'a word ends before it starts');
    },
  },
];
