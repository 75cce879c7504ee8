/** Audio of MP4, QuickTime, WebM and Matroska files, demuxed by a library. */
import {
  BufferSource,
  EncodedPacketSink,
  Input,
  type InputAudioTrack,
  LogLevel,
  Logging,
  MATROSKA,
  MP4,
  QTFF,
  WEBM,
} from 'mediabunny';
import { readAacConfig } from './aac-frames';
import { FlacRemuxer, MpegRemuxer, PcmRemuxer } from './bare-remuxers';
import { mp4Samples } from './mp4-samples';
import { AacRemuxer, AlacRemuxer, OpusRemuxer, type PacketRemuxer, VorbisRemuxer } from './packet-remuxers';
import type { ProbedAudio } from './probe-threads';
import { readVorbisHeaders } from './vorbis-headers';
import { webmFrames } from './webm-blocks';

// It would print content of client files to the console.
Logging.level = LogLevel.Silent;

/** Start of the box with the ALAC cookie: size, type and zero version. */
const ALAC_BOX = Buffer.from('\0\0\0\x24alac\0\0\0\0', 'latin1');

/**
 * Records the first audio track.
 * @param assertCpuLimit called for every packet; throws when the file has taken too long.
 * @throws Error for a file without audio of a known coding.
 */
export async function remuxContainer(bytes: Uint8Array<ArrayBuffer>, assertCpuLimit: () => void): Promise<ProbedAudio> {
  const input = new Input({ source: new BufferSource(bytes), formats: [MP4, QTFF, WEBM, MATROSKA] });
  try {
    const [track] = await input.getAudioTracks();
    if (track === undefined) throw new Error('no audio');
    const remuxer = await remuxerOf(track, bytes);
    let packets = 0;
    for (const packet of remuxer instanceof PcmRemuxer ? [] : framesOf(Buffer.from(bytes.buffer))) {
      remuxer.add(packet);
      packets++;
      assertCpuLimit();
    }
    if (packets > 0) return remuxer.finish();
    for await (const packet of new EncodedPacketSink(track).packets()) {
      remuxer.add(packet.data);
      assertCpuLimit();
    }
    return remuxer.finish();
  } finally {
    input.dispose();
  }
}

/** None: the library finds them. */
function* framesOf(file: Buffer): Generator<Buffer> {
  yield* mp4Samples(file);
  yield* webmFrames(file);
}

async function remuxerOf(track: InputAudioTrack, file: Uint8Array<ArrayBuffer>): Promise<PacketRemuxer> {
  const size = file.length;
  const codec = (await track.getCodec()) ?? String(await track.getInternalCodecId());
  const config = await track.getDecoderConfig();
  const description = config?.description === undefined ? null : toBytes(config.description);
  switch (codec) {
    case 'aac':
      return new AacRemuxer(readAacConfig(required(description)), size);
    case 'alac':
      return new AlacRemuxer(alacCookie(Buffer.from(file.buffer)), size);
    case 'opus':
      return new OpusRemuxer(description, size);
    case 'vorbis':
      return new VorbisRemuxer(readVorbisHeaders(...vorbisHeaders(required(description))), size);
    case 'mp3':
      return new MpegRemuxer(size);
    case 'flac':
      return new FlacRemuxer(required(description), size);
    default:
      return pcmRemuxer(codec, await track.getSampleRate(), await track.getNumberOfChannels(), size);
  }
}

function toBytes(description: NonNullable<AudioDecoderConfig['description']>): Uint8Array {
  if (ArrayBuffer.isView(description)) {
    return new Uint8Array(description.buffer as ArrayBuffer, description.byteOffset, description.byteLength);
  }
  return new Uint8Array(description as ArrayBuffer);
}

function required(description: Uint8Array | null): Uint8Array {
  if (description === null) throw new Error('a coding without its configuration');
  return description;
}

function alacCookie(file: Buffer): Buffer {
  const at = file.indexOf(ALAC_BOX);
  if (at === -1) throw new Error('ALAC without its cookie');
  return file.subarray(at + ALAC_BOX.length, at + ALAC_BOX.length + 24);
}

/** The first and the last of the three headers, which are preceded by their lengths. */
function vorbisHeaders(bytes: Uint8Array): [identification: Uint8Array, setup: Uint8Array] {
  const lengths: number[] = [];
  let at = 1;
  while (lengths.length < 2 && at < bytes.length) {
    let length = 0;
    while (bytes[at] === 255) {
      length += 255;
      at++;
    }
    lengths.push(length + (bytes[at++] ?? 0));
  }
  const [identificationBytes = 0, commentBytes = 0] = lengths;
  return [bytes.subarray(at, at + identificationBytes), bytes.subarray(at + identificationBytes + commentBytes)];
}

function pcmRemuxer(codec: string, rateHz: number, channels: number, size: number): PacketRemuxer {
  const [, kind = '', bits = '8', order] = /^(?:pcm-([usf])(8|16|24|32|64)(be)?|[ua]law)$/.exec(codec) ?? [];
  const tag = codec === 'alaw' ? 6 : codec === 'ulaw' ? 7 : kind === 'f' ? 3 : kind === '' ? 0 : 1;
  if (tag === 0 || !(rateHz > 0) || !(channels > 0)) throw new Error('an unknown coding');
  const layout = { tag, rateHz, channels, sampleBytes: Number(bits) / 8 };
  return new PcmRemuxer({ ...layout, isBigEndian: order !== undefined, isSigned8: codec === 'pcm-s8' }, size);
}
