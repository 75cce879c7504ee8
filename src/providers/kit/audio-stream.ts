import type { StreamSink } from '../contract/chat';
import { ProviderError } from '../contract/provider-error';
import type { SpeechFormat, SpeechStream } from '../contract/speech';
import type { UsageVector } from '../contract/usage';
import type { UpstreamHeaders } from './upstream-errors';
import type { ReplyReceiver } from './reply-receiver';
import { canRead, type PcmLayout, PcmReader, type SampleReader, SPEECH_RATE_HZ } from './speech-samples';
import type { UpstreamExchange } from './upstream-http';
import { type Settler, StreamRelay } from './upstream-stream';

/** More than 40 min of uncompressed audio: 4,096 characters at the slowest speed take about half of that. */
const MAX_AUDIO_BYTES = 128 * 1024 * 1024;

/** Reads usage from a reply's headers; `null`: the reply reports none. */
export type UsageReader = (headers: UpstreamHeaders) => UsageVector | null;

export interface AudioReply {
  /** The format that the upstream sends. */
  readonly format: SpeechFormat;
  readonly readUsage?: UsageReader;
}

/** An audio reply, passed on as it arrives. */
export class AudioStream implements SpeechStream, ReplyReceiver {
  readonly progress: { audioBytes: number; usage: UsageVector | null } = { audioBytes: 0, usage: null };
  private readonly relay: StreamRelay<Buffer>;
  private exchange: UpstreamExchange | null = null;
  private receivedBytes = 0;
  /** Converts PCM whose layout differs from the contract's; `null`: no conversion. */
  private samples: SampleReader | null = null;

  private constructor(
    private readonly reply: AudioReply,
    opening: Settler,
  ) {
    this.relay = new StreamRelay<Buffer>(opening, Buffer.concat, (bytes) => (this.progress.audioBytes += bytes));
  }

  /**
   * Resolves with the first bytes.
   * @param send starts the exchange
   * @throws ProviderError for every other outcome
   */
  static openStream(reply: AudioReply, send: (receiver: ReplyReceiver) => UpstreamExchange): Promise<SpeechStream> {
    return new Promise((resolve, reject) => {
      const stream = new AudioStream(reply, { resolve: () => resolve(stream), reject });
      stream.exchange = send(stream);
      stream.relay.readFrom(stream.exchange);
    });
  }

  onHeaders(headers: UpstreamHeaders): void {
    this.progress.usage = this.reply.readUsage?.(headers) ?? null;
    if (this.reply.format === 'pcm') this.samples = readerOf(layoutOf(headers));
  }

  pipe(sink: StreamSink): Promise<void> {
    return this.relay.pipe(sink);
  }

  onData(chunk: Buffer): void {
    if (this.relay.phase !== 'stream' && contradictsFormat(this.reply.format, chunk)) {
      throw noSpeech('audio in a format other than the one requested');
    }
    this.receivedBytes += chunk.length;
    if (this.receivedBytes > MAX_AUDIO_BYTES) {
      const { phase } = this.relay;
      throw new ProviderError('provider_error', 'The provider sent more than 128 MiB of audio.', {
        phase,
        fallback: false,
      });
    }
    this.exchange?.touch();
    this.pass(this.samples === null ? chunk : toBytes(this.samples.read(chunk)));
  }

  onEnd(): void {
    if (this.samples !== null) this.pass(toBytes(this.samples.end()));
    if (this.relay.phase === 'stream') this.relay.end();
    else this.relay.fail(noSpeech('no audio'));
  }

  onFailure(error: ProviderError): void {
    this.relay.fail(error);
  }

  private pass(audio: Buffer): void {
    if (audio.length === 0) return;
    this.relay.enterStream();
    this.relay.push(audio, audio.length);
  }
}

const RATE = /;\s*rate="?(\d+)/i;
const CHANNELS = /;\s*channels="?(\d+)/i;

/**
 * The PCM layout that the content type states, such as OpenRouter's `audio/pcm;rate=24000;channels=1`; by default the
 * contract's.
 */
function layoutOf(headers: UpstreamHeaders): PcmLayout {
  const contentType = String(headers['content-type']);
  const [, rate = SPEECH_RATE_HZ] = RATE.exec(contentType) ?? [];
  const [, channels = 1] = CHANNELS.exec(contentType) ?? [];
  return { channels: Number(channels), rateHz: Number(rate) };
}

/** `null`: the samples need no conversion. @throws ProviderError */
function readerOf(layout: PcmLayout): SampleReader | null {
  if (!canRead(layout)) throw noSpeech('audio that cannot be converted');
  return layout.channels === 1 && layout.rateHz === SPEECH_RATE_HZ ? null : new PcmReader(layout);
}

function toBytes({ buffer, byteOffset, byteLength }: Int16Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}

function noSpeech(what: string): ProviderError {
  return new ProviderError('provider_error', `The provider sent ${what}.`, { phase: 'first_token', fallback: true });
}

const MPEG_SYNC = 0xe0;
const LAYER_BITS = 0x06;

/**
 * Whether the first bytes of the audio contradict the requested format. Some hosts always send the only format they
 * have, which a player that trusts the content type cannot play. Unknown bytes are accepted.
 */
export function contradictsFormat(format: SpeechFormat, audio: Buffer): boolean {
  // An ID3 tag may precede frames of either format.
  if (audio.toString('latin1', 0, 3) === 'ID3') return format !== 'mp3' && format !== 'aac';
  const found = formatBySignature(audio) ?? (format === 'pcm' ? null : formatByFrame(audio));
  return found !== null && found !== format;
}

/** Detects the format by a signature that raw samples are very unlikely to contain. */
function formatBySignature(audio: Buffer): SpeechFormat | null {
  const head = audio.toString('latin1', 0, 12);
  if (head.startsWith('RIFF') && head.endsWith('WAVE')) return 'wav';
  if (head.startsWith('OggS')) return 'opus';
  return head.startsWith('fLaC') ? 'flac' : null;
}

/** Detects the format by the first frame: MP3 and AAC share the sync word, but only MP3 has a layer. */
function formatByFrame(audio: Buffer): SpeechFormat | null {
  const [first, second] = audio;
  if (first !== 0xff || second === undefined || (second & MPEG_SYNC) !== MPEG_SYNC) return null;
  return (second & LAYER_BITS) === 0 ? 'aac' : 'mp3';
}
