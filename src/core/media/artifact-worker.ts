/* The process that inspects the results of jobs for `media-probes.ts`. */
import {
  ADTS,
  CustomSource,
  FLAC,
  Input,
  type InputFormat,
  type InputVideoTrack,
  MP3,
  MP4,
  OGG,
  QTFF,
  WAVE,
  WEBM,
} from 'mediabunny';
import type { ReadRange } from './media-processes';
import type { ArtifactProbeTask, ProbedArtifact } from './media-probes';
import { serveTasks } from './media-program';

const MAX_SECONDS = 86_400;
const MAX_PIXELS_ACROSS = 32_768;

serveTasks(probe);

async function probe({ sizeBytes, head }: ArtifactProbeTask, readRange: ReadRange): Promise<ProbedArtifact | null> {
  const read = (start: number, end: number) => (end <= head.length ? head.subarray(start, end) : readRange(start, end));
  const source = new CustomSource({ getSize: () => sizeBytes, read });
  const input = new Input({ source, formats: [MP4, QTFF, WEBM, MP3, WAVE, FLAC, OGG, ADTS] });
  try {
    const format = await input.getFormat();
    const picture = await input.getPrimaryVideoTrack();
    const contentType = contentTypeOf(format, picture !== null);
    // Audio after the last picture is padding.
    const seconds = await (picture ?? input).computeDuration();
    const durationSeconds = Math.round(seconds * 1_000) / 1_000;
    if (contentType === null || !(durationSeconds > 0 && durationSeconds <= MAX_SECONDS)) return null;
    const kind = picture === null ? ({ type: 'audio', width: null, height: null } as const) : await sizeOf(picture);
    return kind === null ? null : { ...kind, contentType, durationSeconds };
  } finally {
    input.dispose();
  }
}

async function sizeOf(track: InputVideoTrack): Promise<Pick<ProbedArtifact, 'type' | 'width' | 'height'> | null> {
  const [width, height] = [await track.getDisplayWidth(), await track.getDisplayHeight()];
  const isSane = [width, height].every((side) => Number.isInteger(side) && side > 0 && side <= MAX_PIXELS_ACROSS);
  return isSane ? { type: 'video', width, height } : null;
}

/** Returns `null` for an unsupported type. */
function contentTypeOf(format: InputFormat, hasPicture: boolean): string | null {
  switch (format) {
    case MP4:
      return hasPicture ? 'video/mp4' : 'audio/mp4';
    case QTFF:
      return hasPicture ? 'video/quicktime' : null;
    case WEBM:
      return hasPicture ? 'video/webm' : null;
    case MP3:
      return hasPicture ? null : 'audio/mpeg';
    case WAVE:
      return 'audio/wav';
    case FLAC:
      return 'audio/flac';
    case OGG:
      return hasPicture ? null : 'audio/ogg';
    case ADTS:
      return 'audio/aac';
    default:
      return null;
  }
}
