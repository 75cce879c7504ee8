import { mkdtempSync, rmSync } from 'node:fs';
import { type FileHandle, open, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeTestAudio, makeTestVideo } from '../../../test/harness/media-files';
import { ArtifactProbe, type ProbedArtifact } from './media-probes';

const probe = new ArtifactProbe();
const directory = mkdtempSync(join(tmpdir(), 'artifact-probe-'));
afterAll(async () => {
  await probe.onModuleDestroy();
  rmSync(directory, { recursive: true });
});

async function probed(bytes: Buffer): Promise<ProbedArtifact | null> {
  const path = join(directory, 'file');
  await writeFile(path, bytes);
  const file: FileHandle = await open(path);
  try {
    return await probe.probe({ descriptor: file.fd, sizeBytes: bytes.length });
  } finally {
    await file.close();
  }
}

describe('an artifact of a provider', () => {
  it.each([true, false])('is a video with size and duration, regardless of its audio track: %p', async (audio) => {
    expect(await probed(await makeTestVideo({ audio }))).toEqual({
      type: 'video',
      contentType: 'video/mp4',
      width: 480,
      height: 480,
      durationSeconds: 2,
    });
  });

  it.each([
    ['mp3', 'audio/mpeg'],
    ['wav', 'audio/wav'],
    ['flac', 'audio/flac'],
  ] as const)('is audio with a duration: %s', async (format, contentType) => {
    expect(await probed(await makeTestAudio(format))).toEqual({
      type: 'audio',
      contentType,
      width: null,
      height: null,
      durationSeconds: expect.closeTo(2, 0),
    });
  });

  it.each<[string, () => Promise<Buffer> | Buffer]>([
    ['nothing', () => Buffer.alloc(0)],
    ['a web page', () => Buffer.from('<!doctype html><video src="https://example.com">')],
    ['zeros', () => Buffer.alloc(1_000_000)],
    ['half a video', async () => (await makeTestVideo()).subarray(0, 300)],
  ])('is refused when it is %s', async (_what, make) => {
    expect(await probed(await make())).toBeNull();
  });
});
