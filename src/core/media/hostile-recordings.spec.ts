import * as fc from 'fast-check';
import { HOSTILE_RECORDINGS } from '../../../test/harness/hostile-recordings';
import {
  decode,
  hasDecoder,
  makeRecordings,
  RECORDING_NAMES,
  type RecordingName,
} from '../../../test/harness/sound-decoder';
import { box } from '../../../test/harness/sound-files';
import { GatewayError } from '../errors/gateway-error';
import { AudioProbe, type ProbedAudio } from './media-probes';

const SECONDS = 2;
/** Decoders drop the encoder delay. */
const PRIMING_SECONDS = 0.1;

const probe = new AudioProbe();
let recordings: Readonly<Record<RecordingName, Buffer>>;

async function probeOrRefuse(bytes: Buffer): Promise<ProbedAudio | null> {
  try {
    return await probe.probe(bytes, 'file', 'organization');
  } catch (error) {
    if (error instanceof GatewayError && error.code === 'validation_failed') return null;
    throw error;
  }
}

(hasDecoder ? describe : describe.skip)('the decoded duration of the sent file', () => {
  beforeAll(() => {
    recordings = makeRecordings(SECONDS);
  }, 120_000);
  afterAll(() => probe.onModuleDestroy());

  it('equals the billed duration for every coding and container', async () => {
    const played: Record<string, unknown> = {};
    for (const name of RECORDING_NAMES) {
      const probed = await probeOrRefuse(recordings[name]);
      if (probed === null) continue;
      const { seconds, isDamaged } = decode(probed.bytes, probed.extension);
      const isBilled = Math.abs(seconds - probed.durationSeconds) < 0.02;
      played[name] = isBilled && !isDamaged && Math.abs(seconds - SECONDS) <= PRIMING_SECONDS;
    }
    const accepted = RECORDING_NAMES.filter((name) => name !== 'surround.ogg');
    expect(played).toEqual(Object.fromEntries(accepted.map((name) => [name, true])));
  }, 120_000);

  it.each(HOSTILE_RECORDINGS)(
    'is within 10 % of the billed duration, or the file is refused: $name',
    async ({ make }) => {
      const probed = await probeOrRefuse(await make(recordings));
      if (probed === null) return;
      const { durationSeconds, bytes, extension } = probed;
      const { seconds } = decode(bytes, extension);
      const difference = Math.abs(seconds - durationSeconds);
      expect({ seconds, durationSeconds, isBilled: difference <= durationSeconds * 0.1 + 0.02 }).toMatchObject({
        isBilled: true,
      });
    },
    60_000,
  );

  it('is within 10 % of the billed duration, or the file is refused, for random mutations', async () => {
    const run = await fc.check(
      fc.asyncProperty(mutated(), async ({ name, mutations }) => {
        const file = mutations.reduce<Buffer>((bytes, mutate) => mutate(bytes), recordings[name]);
        const probed = await probeOrRefuse(file);
        if (probed === null) return true;
        const { seconds, isDamaged } = decode(probed.bytes, probed.extension);
        // Decoders play less of damaged frames.
        const isCovered = seconds <= probed.durationSeconds * 1.1 + 0.02;
        return isCovered && (isDamaged || seconds >= probed.durationSeconds * 0.9 - 0.02);
      }),
      { numRuns: 40, seed: 11, endOnFailure: true },
    );
    expect({ failed: run.failed, error: run.errorInstance }).toEqual({ failed: false, error: null });
  }, 300_000);
});

type Mutation = (bytes: Buffer) => Buffer;
const place = fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true });
const BOXES = ['moof', 'stbl', 'stsz', 'stts', 'elst', 'edts', 'trak', 'mdat', 'udta', 'free'];

function mutated(): fc.Arbitrary<{ readonly name: RecordingName; readonly mutations: readonly Mutation[] }> {
  const at = (bytes: Buffer, where: number): number => Math.floor(bytes.length * where);
  const flip = fc.tuple(place, fc.integer({ min: 1, max: 255 })).map(([where, mask]): Mutation => (bytes) => {
    const copy = Buffer.from(bytes);
    if (copy.length > 0) copy[at(copy, where)] = (copy[at(copy, where)] ?? 0) ^ mask;
    return copy;
  });
  // Mutate headers most.
  const flipHead = fc.tuple(fc.nat(600), fc.integer({ min: 1, max: 255 })).map(([where, mask]): Mutation => (bytes) => {
    const copy = Buffer.from(bytes);
    if (where < copy.length) copy[where] = (copy[where] ?? 0) ^ mask;
    return copy;
  });
  const cut = place.map(
    (where): Mutation =>
      (bytes) =>
        bytes.subarray(0, at(bytes, where)),
  );
  const double = fc.constant<Mutation>((bytes) => Buffer.concat([bytes, bytes]));
  const repeatPart = fc.tuple(place, place).map(([from, to]): Mutation => (bytes) => {
    const [first, last] = [at(bytes, Math.min(from, to)), at(bytes, Math.max(from, to))];
    return Buffer.concat([bytes.subarray(0, last), bytes.subarray(first)]);
  });
  const append = fc.constantFrom(...RECORDING_NAMES).map((name): Mutation => (bytes) => {
    return Buffer.concat([bytes, recordings[name]]);
  });
  const splice = fc.tuple(place, fc.constantFrom(...BOXES), fc.nat(64)).map(([where, type, size]): Mutation => {
    return (bytes) => {
      const index = at(bytes, where);
      return Buffer.concat([bytes.subarray(0, index), box(type, Buffer.alloc(size)), bytes.subarray(index)]);
    };
  });
  const rename = fc
    .tuple(fc.constantFrom(...BOXES), fc.constantFrom(...BOXES))
    .map(([from, to]): Mutation => (bytes) => {
      const copy = Buffer.from(bytes);
      const index = copy.indexOf(from, 0, 'latin1');
      if (index !== -1) copy.write(to, index, 'latin1');
      return copy;
    });
  const mutation = fc.oneof(flip, flipHead, flipHead, cut, double, repeatPart, append, splice, rename);
  return fc.record({
    name: fc.constantFrom(...RECORDING_NAMES),
    mutations: fc.array(mutation, { minLength: 1, maxLength: 3 }),
  });
}
