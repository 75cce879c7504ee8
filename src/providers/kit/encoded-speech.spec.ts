import { CollectingSink, providerCall } from '../../../test/conformance/provider-call';
import { speechRequest } from '../../../test/conformance/media-requests';
import { AudioProbe } from '../../core/media/media-probes';
import type { StreamSink } from '../contract/chat';
import type { SpeechProvider, SpeechRequest } from '../contract/speech';
import { ProviderError } from '../contract/provider-error';
import { EncodedSpeech } from './encoded-speech';

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
    ['opus', 'OggS'],
    ['flac', 'fLaC'],
  ] as const)('is encoded as %s with its whole duration', async (format, signature) => {
    const vendor = new PcmVendor(inPieces(4_095));
    const stream = await new EncodedSpeech(vendor, ['opus', 'flac']).speak(speechRequest({ format }), providerCall());
    const sink = new CollectingSink();
    await stream.pipe(sink);
    expect(vendor.requested?.format).toBe('pcm');
    expect(sink.output.toString('latin1', 0, 4)).toBe(signature);
    expect((await probe.probe(sink.output, 'file', 'organization')).durationSeconds).toBeCloseTo(2.5, 1);
    expect(stream.progress.audioBytes).toBe(sink.output.length);
    expect(sink.output.length).toBeLessThan(TONE.length / 2);
  });

  it.each(['opus', 'flac'] as const)('arrives as %s while the vendor still sends', async (format) => {
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

  it('waits for a slow receiver, and passes a failure of the vendor on', async () => {
    const failure = new ProviderError('provider_disconnect', 'gone', { phase: 'stream', fallback: false });
    const vendor = new PcmVendor(inPieces(48_000), failure);
    const stream = await new EncodedSpeech(vendor, ['opus']).speak(speechRequest({ format: 'opus' }), providerCall());
    let waits = 0;
    const sink: StreamSink = { write: () => false, drained: () => (waits++, Promise.resolve()) };
    await expect(stream.pipe(sink)).rejects.toBe(failure);
    expect(waits).toBeGreaterThan(5);
  });

  it('is not encoded any more once the receiver has disconnected', async () => {
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

  it('is passed on as it is in the formats that the vendor has', async () => {
    const vendor = new PcmVendor(inPieces(4_096));
    const stream = await new EncodedSpeech(vendor, ['opus']).speak(speechRequest({ format: 'wav' }), providerCall());
    const sink = new CollectingSink();
    await stream.pipe(sink);
    expect([vendor.requested?.format, sink.output.equals(TONE)]).toEqual(['wav', true]);
  });
});
