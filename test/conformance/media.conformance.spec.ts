/**
 * What every provider of the registry must do with images and audio, as far as it claims the capability: the second
 * half of `provider.conformance.spec.ts`.
 */
import { sniffImageType } from '../../src/core/types/image-format';
import type { Provider } from '../../src/providers/contract/provider';
import type { ProviderCall } from '../../src/providers/contract/provider-call';
import type { SpeechStream } from '../../src/providers/contract/speech';
import { type Answer, FakeUpstream } from './fake-upstream';
import * as answer from './media-answers';
import { imageRequest, speechRequest, transcriptionRequest } from './media-requests';
import { type MediaUse, type MediaWire, OPENAI_MEDIA, PNG } from './media-uses';
import { CollectingSink, providerCall, providerErrorOf } from './provider-call';
import { type Subject, SUBJECTS } from './subjects';

/** What upstreams of any format answer, and the resulting code, phase and retry delay in seconds. */
const FAULTS: readonly (readonly [string, Answer, readonly unknown[]])[] = [
  ['a rate limit', answer.fault(429, {}, { 'retry-after': '7' }), ['provider_rate_limited', 'first_token', 7]],
  ['a server error', answer.fault(500), ['provider_unavailable', 'first_token', undefined]],
  ['an overload', answer.fault(503, {}, { 'retry-after': '3' }), ['provider_unavailable', 'first_token', 3]],
  ['an upstream timeout', answer.fault(504), ['provider_timeout', 'first_token', undefined]],
  ['a connection closed', answer.disconnect, ['provider_unavailable', 'headers', undefined]],
  [
    'a web page',
    (response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<html>'),
    ['provider_error', 'first_token', undefined],
  ],
  [
    'an answer that stops after its headers',
    (response) => {
      response.writeHead(200, { 'content-length': '100' });
      response.flushHeaders();
      setImmediate(() => response.destroy());
    },
    ['provider_disconnect', 'first_token', undefined],
  ],
];

/** A separate provider and upstream for each test. */
function stage({ definition, environment }: Subject): { upstream: FakeUpstream; provider: Provider } {
  const held = {} as { upstream: FakeUpstream; provider: Provider };
  beforeEach(async () => {
    held.upstream = await FakeUpstream.start();
    const created = definition.create(environment(held.upstream.origin));
    if (created === null) throw new Error(`${definition.id} is not configured by its own environment`);
    held.provider = created;
  });
  afterEach(async () => {
    await held.provider.close();
    await held.upstream.stop();
  });
  return held;
}

/** The uses of a provider that it claims. */
function claimedBy(subject: Subject): readonly MediaUse[] {
  const provider = subject.definition.create(subject.environment('http://127.0.0.1:9'));
  void provider?.close();
  return wireOf(subject)?.uses.filter(({ capability }) => provider?.capabilities[capability] === true) ?? [];
}

function wireOf({ media, speaksOpenAi }: Subject): MediaWire | undefined {
  return media ?? (speaksOpenAi ? OPENAI_MEDIA : undefined);
}

const callOf = ({ quirks }: Provider, overrides: Partial<ProviderCall> = {}) => providerCall({ quirks, ...overrides });
const named = SUBJECTS.map((subject) => [subject.definition.id, subject] as const);

const inCommonFormat = named.filter(([, { media }]) => media === undefined);

describe.each(inCommonFormat)('provider %s', (_id, subject) => {
  const { speaksOpenAi, rateLimitPrompt: prompt } = subject;
  const held = stage(subject);
  /** Starts a fake upstream if the provider has one. */
  const provider = (reply: Answer): Provider => {
    held.upstream.answer = reply;
    return held.provider;
  };

  it('makes the requested number of images, if supported, and reports their usage', async () => {
    const made = await provider(answer.images(2)).images?.generate(imageRequest({ count: 2 }), callOf(held.provider));
    if (made === undefined) return;
    expect(made.images).toHaveLength(2);
    const types = made.images.map((image) => ('bytes' in image ? sniffImageType(image.bytes) : null));
    expect(types).not.toContain(null);
    const reported = expect.objectContaining({ inputText: 10, inputImage: 40, outputImage: 200 });
    expect(made.usage).toEqual(speaksOpenAi ? reported : made.usage);
  });

  it('edits images, if supported', async () => {
    const made = await provider(answer.images(1)).images?.generate(
      imageRequest({ images: [PNG, PNG], mask: PNG }),
      callOf(held.provider),
    );
    if (made === undefined) return;
    expect(made.images).toHaveLength(1);
    if (!speaksOpenAi) return;
    const form = await answer.formOf(held.upstream.received[0]);
    expect([form.get('prompt'), form.get('model'), form.get('n')]).toEqual(['a lighthouse', 'upstream-model', '1']);
    const files = [...form.getAll('image[]'), form.get('mask')] as File[];
    const sent = await Promise.all(files.map(async (file) => [file.type, Buffer.from(await file.arrayBuffer())]));
    expect(sent).toEqual([PNG, PNG, PNG].map(({ contentType, bytes }) => [contentType, bytes]));
  });

  it('drops images beyond the requested number', async () => {
    if (!speaksOpenAi || !held.provider.capabilities.images) return;
    const made = await provider(answer.images(3)).images?.generate(imageRequest({ count: 2 }), callOf(held.provider));
    expect([made?.images.length, made?.usage]).toEqual([2, null]);
  });

  it('speaks, if supported, and counts the bytes', async () => {
    const stream = await provider(answer.speech()).speech?.speak(speechRequest(), callOf(held.provider));
    if (stream === undefined) return;
    const sink = new CollectingSink();
    await stream.pipe(sink);
    expect(sink.output.length).toBeGreaterThan(0);
    expect(stream.progress.audioBytes).toBe(sink.output.length);
  });

  it('transcribes, if supported, with the requested timestamps', async () => {
    const request = transcriptionRequest({ timestamps: ['segment', 'word'] });
    const transcript = await provider(answer.transcript()).transcription?.transcribe(request, callOf(held.provider));
    if (transcript === undefined) return;
    const said = transcript.segments?.map(({ text }) => text).join('') ?? '';
    expect(said.replaceAll(' ', '')).toBe(transcript.text.replaceAll(' ', ''));
    expect(transcript.words?.every(({ start, end }) => start <= end)).toBe(true);
    const reported = expect.objectContaining({ inputText: 4, inputAudio: 10, outputText: 6 });
    expect(transcript.usage).toEqual(speaksOpenAi ? reported : transcript.usage);
  });

  it('streams a transcript, if supported, as text events', async () => {
    const stream = await provider(answer.transcriptStream()).transcription?.openStream?.(
      transcriptionRequest(),
      callOf(held.provider),
    );
    if (stream === undefined) return;
    const sink = new CollectingSink();
    await stream.pipe(sink);
    expect(new Set(sink.chunks.map(({ type }) => type))).toEqual(new Set(['transcript.text.delta']));
    expect(sink.chunks.map(({ delta }) => String(delta)).join('')).toBe(stream.progress.text);
    expect(stream.progress.outputBytes).toBe(Buffer.byteLength(stream.progress.text));
  });

  it('reports a scripted rate limit, if it has no upstream', async () => {
    if (prompt === undefined) return;
    const refusals = [
      held.provider.images?.generate(imageRequest({ prompt }), callOf(held.provider)),
      held.provider.speech?.speak(speechRequest({ input: prompt }), callOf(held.provider)),
    ].filter((refusal) => refusal !== undefined);
    for (const refusal of refusals) {
      const { code, options } = await providerErrorOf(refusal);
      expect([code, options.retryAfterSeconds]).toEqual(['provider_rate_limited', 7]);
    }
  });
});

const withMedia = named.filter(([, subject]) => claimedBy(subject).length > 0);

describe.each(withMedia)('provider %s with its upstream', (_id, subject) => {
  const held = stage(subject);
  const wire = wireOf(subject) as MediaWire;
  const faults: typeof FAULTS = [
    ['a refused key', wire.keyRefused, ['provider_error', 'first_token', undefined]],
    ...FAULTS,
  ];

  describe.each(claimedBy(subject))('$name', ({ targets, namesNoModel, happy, delivers, broken, run }) => {
    const use = (overrides: Partial<ProviderCall> = {}): Promise<unknown> =>
      run(held.provider, callOf(held.provider, overrides)) ?? Promise.reject(new Error('not offered'));
    it('calls the configured host once, with its key and the model of the deployment', async () => {
      held.upstream.answer = happy;
      await use();
      expect(held.upstream.received.map(({ url }) => url)).toEqual(targets);
      const [first] = held.upstream.received;
      const sent = held.upstream.received.map(({ url, body }) => `${url} ${body}`).join();
      expect(JSON.stringify(first?.headers)).toContain('test-1234');
      expect(sent.includes('upstream-model')).toBe(namesNoModel !== true);
      expect(sent).not.toContain('vendor/public-model');
    });

    it('returns what was requested', async () => {
      held.upstream.answer = happy;
      const result = await use();
      if (result instanceof Object && 'pipe' in result) await (result as SpeechStream).pipe(new CollectingSink());
      expect(result).toMatchObject(delivers);
    });

    it.each(faults)('maps %s, after one upstream call', async (_name, fault, expected) => {
      held.upstream.answer = fault;
      const { code, options } = await providerErrorOf(use());
      expect([code, options.phase, options.retryAfterSeconds]).toEqual(expected);
      expect(held.upstream.received).toHaveLength(1);
    });

    it('blames the client for an invalid request, if its upstream says so, after one upstream call', async () => {
      if (wire.invalid === undefined) return;
      held.upstream.answer = wire.invalid;
      const { code, options } = await providerErrorOf(use());
      expect([code, options.phase, held.upstream.received.length]).toEqual(['validation_failed', 'first_token', 1]);
    });

    it('reports a refusal by moderation as filtered content, if its upstream has one', async () => {
      if (wire.moderated === undefined) return;
      held.upstream.answer = wire.moderated;
      const { code, options } = await providerErrorOf(use());
      expect([code, options.fallback]).toEqual(['validation_failed', false]);
      expect(options.details).toMatchObject({ reason: 'content_filtered' });
    });

    it('enforces its time limits', async () => {
      held.upstream.answer = answer.silence;
      const deadlines = { connectMs: 5_000, firstTokenMs: 50, idleMs: 5_000, totalMs: 20_000 };
      const { code, options } = await providerErrorOf(use({ deadlines }));
      const calls = held.upstream.received.length;
      const timedOut = ['provider_timeout', 'headers'];
      // On a stalled machine, a limit that several exchanges share can expire before the request is sent.
      const unreached = ['provider_unavailable', 'connect'];
      expect(calls === 0 ? [timedOut, unreached] : [timedOut]).toContainEqual([code, options.phase]);
      expect(calls).toBeLessThanOrEqual(1);
    });

    it.each(Object.entries(broken))('refuses %s', async (_name, fault) => {
      held.upstream.answer = fault;
      const { code, options } = await providerErrorOf(use());
      expect([code === 'provider_error' || code === 'provider_disconnect', options.phase]).toEqual([
        true,
        'first_token',
      ]);
    });

    it('distinguishes a refused connection from a broken one', async () => {
      const unreachable = subject.definition.create(subject.environment('http://127.0.0.1:9'));
      const error = await providerErrorOf(run(unreachable as Provider, providerCall()) ?? Promise.resolve());
      expect([error.code, error.options.phase]).toEqual(['provider_unavailable', 'connect']);
      await unreachable?.close();
    });

    it('closes the upstream connection when the call is aborted', async () => {
      const abort = new AbortController();
      const left = held.upstream.nextDisconnect();
      held.upstream.answer = () => abort.abort();
      expect((await providerErrorOf(use({ signal: abort.signal }))).code).toBe('provider_disconnect');
      await left;
    });

    it('redacts keys and accounts in upstream messages', async () => {
      if (wire.leaking === undefined) return;
      held.upstream.answer = wire.leaking('Key sk-test-1234 of org-Secret12345 is wrong');
      const { message, options } = await providerErrorOf(use());
      expect(`${message} ${JSON.stringify(options.details)}`).not.toMatch(/sk-test|Secret/);
    });
  });
});
