import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { EncodedPacket } from 'mediabunny';

/** Reads and writes media files without coding them: megabytes of code, hence loaded with the first file. */
type MediaLibrary = typeof import('mediabunny');

let library: Promise<MediaLibrary> | undefined;

export function loadMediaLibrary(): Promise<MediaLibrary> {
  library ??= import('mediabunny');
  return library;
}

const FOLDER = join(__dirname, '../fixtures');
const files = new Map<string, Promise<Buffer>>();
const tracks = new Map<string, Promise<FixtureTrack>>();

/** A file of `fixtures/`, read once. */
export function readFixture(name: string): Promise<Buffer> {
  return cached(files, name, () => readFile(join(FOLDER, name)));
}

/** The only track of a fixture. All of its packets have the same duration. */
export interface FixtureTrack {
  readonly packets: readonly EncodedPacket[];
  readonly packetSeconds: number;
  readonly decoderConfig: object;
}

export function readTrack(name: string): Promise<FixtureTrack> {
  return cached(tracks, name, async () => {
    const { ALL_FORMATS, BufferSource, EncodedPacketSink, Input } = await loadMediaLibrary();
    using input = new Input({ source: new BufferSource(await readFixture(name)), formats: ALL_FORMATS });
    const [track] = await input.getTracks();
    const decoderConfig = await (track?.isVideoTrack() || track?.isAudioTrack() ? track.getDecoderConfig() : null);
    if (track === undefined || decoderConfig === null) throw new Error(`The fixture ${name} has no track.`);
    const packets: EncodedPacket[] = [];
    for await (const packet of new EncodedPacketSink(track).packets()) packets.push(packet);
    // The first packet may be shortened by the delay of its encoder.
    return { packets, packetSeconds: packets[1]?.duration ?? 0, decoderConfig };
  });
}

/** The number of packets that play for at least this time. */
export function packetCount({ packetSeconds }: FixtureTrack, seconds: number): number {
  // Readers recognize bare frames by two of them. Rounding errors of the division must not add a packet.
  return Math.max(2, Math.ceil(seconds / packetSeconds - 1e-6));
}

/**
 * The packets of a track, over and over, with consecutive times.
 * @param first the packet to begin with, counted on after the last one
 */
export async function* repeatPackets(
  track: FixtureTrack,
  seconds: number,
  first: number,
): AsyncGenerator<EncodedPacket, void, void> {
  const { EncodedPacket: Packet } = await loadMediaLibrary();
  const { packets, packetSeconds } = track;
  const count = packetCount(track, seconds);
  for (let index = 0; index < count; index++) {
    const { data, type } = packets[(first + index) % packets.length] as EncodedPacket;
    yield new Packet(data, type, index * packetSeconds, packetSeconds);
  }
}

function cached<Value>(cache: Map<string, Promise<Value>>, name: string, load: () => Promise<Value>): Promise<Value> {
  const known = cache.get(name);
  if (known !== undefined) return known;
  const loading = load();
  cache.set(name, loading);
  loading.catch(() => cache.delete(name));
  return loading;
}
