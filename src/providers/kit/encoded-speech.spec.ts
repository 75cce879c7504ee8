import { CollectingSink, providerCall } from '../../../test/conformance/provider-call';
import { until } from '../../../test/faults/figures';
import { speechRequest } from '../../../test/conformance/media-requests';
import { AudioProbe } from '../../core/media/media-probes';
import type { StreamSink } from '../contract/chat';
import type { SpeechProvider, SpeechRequest } from '../contract/speech';
import { ProviderError } from '../contract/provider-error';
import { EncodedSpeech } from './encoded-speech';
import { MAX_ENCODER_THREADS } from './speech-encoders';

const SAMPLE_RATE = 24_000;
/** 2.5 s of a tone: the last frame of either format is not full. */
const TONE = Buffer.alloc(SAMPLE_RATE * 5);
for (let at = 0; at < TONE.length; at += 2) TONE.writeInt16LE(Math.round(8_000 * Math.sin(at / 20)), at);

const probe = new AudioProbe();
afterAll(() => probe.onModuleDestroy());

/** A vendor that has PCM only and sends it in pieces. */
class PcmVendor implements SpeechProvider {
  requested: SpeechRequest | null = null;

  constructor(
    private readonly pieces: readonly Buffer[],
    private readonly failure: ProviderError | null = null,
  ) {}

  speak(request: SpeechRequest) {
    this.requested = request;
    const progress = { audioBytes: 0, usage: null };
    return Promise.resolve({
      progress,
      pipe: async (sink: StreamSink) => {
        for (const piece of this.pieces) {
          progress.audioBytes += piece.length;
          if (!sink.write(piece)) await sink.drained();
        }
        if (this.failure !== null) throw this.failure;
      },
    });
  }
}

/** In pieces that do not end with a sample. */
const inPieces = (bytes: number): Buffer[] =>
  Array.from({ length: Math.ceil(TONE.length / bytes) }, (_, index) =>
    TONE.subarray(index * bytes, (index + 1) * bytes),
  );

describe('speech of a vendor with PCM only', () => {
  it.each([
    ['opus', /^OggS/],
    ['flac', /^fLaC/],
    // Frames of MPEG-2 Layer III, and of AAC in ADTS
    ['mp3', /^\xff\xf3/],
    ['aac', /^\xff[\xf0\xf1]/],
    ['wav', /^RIFF/],
  ] as const)('is encoded as %s with its whole duration', async (format, beginning) => {
    const vendor = new PcmVendor(inPieces(4_095));
    const stream = await new EncodedSpeech(vendor, [format]).speak(speechRequest({ format }), providerCall());
    const sink = new CollectingSink();
    await stream.pipe(sink);
    expect(vendor.requested?.format).toBe('pcm');
    expect(sink.output.toString('latin1', 0, 4)).toMatch(beginning);
    const { durationSeconds } = await probe.probe(sink.output, 'file', 'organization');
    // MP3 and AAC begin with the delay of their encoder, and end with a whole frame.
    expect(durationSeconds).toBeGreaterThan(2.49);
    expect(durationSeconds).toBeLessThan(2.58);
    expect(stream.progress.audioBytes).toBe(sink.output.length);
    expect(sink.output.length).toBeLessThan(format === 'wav' ? TONE.length + 45 : TONE.length / 2);
  });

  it.each(['opus', 'flac', 'mp3', 'aac'] as const)('arrives as %s while the vendor still sends', async (format) => {
    const held = Promise.withResolvers<void>();
    const vendor: SpeechProvider = {
      speak: () =>
        Promise.resolve({
          progress: { audioBytes: 0, usage: null },
          pipe: async (sink) => {
            sink.write(TONE.subarray(0, SAMPLE_RATE * 4));
            await sink.drained();
            await held.promise;
          },
        }),
    };
    const stream = await new EncodedSpeech(vendor, [format]).speak(speechRequest({ format }), providerCall());
    const sink = new CollectingSink();
    const first = Promise.withResolvers<void>();
    const piped = stream.pipe({
      write: (piece) => (sink.write(piece), sink.output.length > 2_000 && first.resolve(), true),
      drained: () => sink.drained(),
    });
    await first.promise;
    const beforeEndBytes = sink.output.length;
    held.resolve();
    await piped;
    expect(sink.output.length).toBeGreaterThan(beforeEndBytes);
  });

  it.each(['opus', 'mp3'] as const)(
    'waits for a slow receiver of %s, and passes a failure of the vendor on',
    async (format) => {
      const failure = new ProviderError('provider_disconnect', 'gone', { phase: 'stream', fallback: false });
      const vendor = new PcmVendor(inPieces(48_000), failure);
      const stream = await new EncodedSpeech(vendor, [format]).speak(speechRequest({ format }), providerCall());
      let waits = 0;
      const sink: StreamSink = { write: () => false, drained: () => (waits++, Promise.resolve()) };
      await expect(stream.pipe(sink)).rejects.toBe(failure);
      expect(waits).toBeGreaterThan(5);
    },
  );

  describe('in MP3 and AAC', () => {
    let held: PromiseWithResolvers<void>;
    /** The owners whose speech has begun to arrive. */
    let begun: string[];
    beforeEach(() => {
      held = Promise.withResolvers();
      begun = [];
    });
    // Also after a failure, for the sake of the next test.
    afterEach(() => held.resolve());

    /** Speech that ends once `held` is resolved. Resolves with whether it was encoded. */
    async function speak(format: 'mp3' | 'opus', ownerId: string, signal = new AbortController().signal) {
      const vendor: SpeechProvider = {
        speak: () =>
          Promise.resolve({
            progress: { audioBytes: 0, usage: null },
            pipe: async (sink) => {
              begun.push(ownerId);
              sink.write(TONE.subarray(0, SAMPLE_RATE));
              await sink.drained();
              await held.promise;
            },
          }),
      };
      const call = providerCall({ ownerId, signal });
      const stream = await new EncodedSpeech(vendor, [format]).speak(speechRequest({ format }), call);
      const sink = new CollectingSink();
      await stream.pipe(sink);
      return sink.output.length > 0;
    }

    it('waits while as many streams as there may be threads are encoded', async () => {
      const streams = Array.from({ length: MAX_ENCODER_THREADS + 4 }, (_, index) => speak('mp3', `owner ${index}`));
      streams.push(speak('opus', 'owner of opus'));
      await until('the first streams', 30_000, () => begun.length === MAX_ENCODER_THREADS + 1);
      held.resolve();
      expect(await Promise.all(streams)).toEqual(streams.map(() => true));
      expect(begun).toHaveLength(MAX_ENCODER_THREADS + 5);
    });

    it('begins while another organization has more streams than there are threads', async () => {
      const streams = Array.from({ length: MAX_ENCODER_THREADS + 1 }, () => speak('mp3', 'slow'));
      await until('the streams of one', 30_000, () => begun.length >= MAX_ENCODER_THREADS / 2);
      streams.push(speak('mp3', 'other'));
      await until('the stream of the other', 5_000, () => begun.includes('other'));
      held.resolve();
      expect(await Promise.all(streams)).toEqual(streams.map(() => true));
    });

    it('ends for a receiver that disconnects while it waits, without a thread', async () => {
      const streams = Array.from({ length: MAX_ENCODER_THREADS }, (_, index) => speak('mp3', `owner ${index}`));
      const leaving = new AbortController();
      const left = speak('mp3', 'leaving', leaving.signal);
      await until('the first streams', 30_000, () => begun.length === MAX_ENCODER_THREADS);
      leaving.abort();
      held.resolve();
      await expect(left).rejects.toMatchObject({ code: 'provider_disconnect', options: { phase: 'stream' } });
      await Promise.all(streams);
      expect(begun).not.toContain('leaving');
    });
  });

  it('is no longer encoded once the receiver has disconnected', async () => {
    const stop = new AbortController();
    const call = providerCall({ signal: stop.signal });
    const stream = await new EncodedSpeech(new PcmVendor([TONE]), ['opus']).speak(
      speechRequest({ format: 'opus' }),
      call,
    );
    let writes = 0;
    await stream.pipe({ write: () => (writes++, stop.abort(), true), drained: () => Promise.resolve() });
    expect(writes).toBeLessThan(5);
  });

  it('is passed on unchanged in the formats that the vendor has', async () => {
    const vendor = new PcmVendor(inPieces(4_096));
    const stream = await new EncodedSpeech(vendor, ['opus']).speak(speechRequest({ format: 'wav' }), providerCall());
    const sink = new CollectingSink();
    await stream.pipe(sink);
    expect([vendor.requested?.format, sink.output.equals(TONE)]).toEqual(['wav', true]);
  });
});
