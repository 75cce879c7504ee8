import { tinyPng } from '../../../../../test/conformance/media-answers';
import { musicSpec, videoSpec } from '../../../../../test/conformance/job-requests';
import { planJob } from './job-record';

const PNG = { bytes: tinyPng(), contentType: 'image/png' } as const;

describe('planJob', () => {
  it('removes the directives from the prompt', () => {
    const { script, output } = planJob(videoSpec({ prompt: 'a [[mock: run=2s]]lighthouse [[mock: fail=error]]' }));
    expect([script, output.prompt]).toEqual([{ runMs: 2_000, fail: 'error' }, 'a lighthouse']);
  });

  it('makes a video with the requested size, length and audio', () => {
    const spec = videoSpec({ durationSeconds: 7, resolution: '480p', aspectRatio: '1:1', audio: true });
    expect(planJob(spec).output).toMatchObject({ kind: 'video', seconds: 7, resolution: '480p', audio: true });
  });

  it('describes the input images in the video', () => {
    const spec = videoSpec({ firstFrame: PNG, lastFrame: PNG, references: [PNG, PNG] });
    expect(planJob(spec).output.prompt).toMatch(/^a lighthouse from a PNG of \d+x\d+ and 3 more$/);
  });

  it.each([
    [
      { format: null, sampleRate: null },
      { format: 'mp3', sampleRate: 44_100 },
    ],
    [
      { format: 'flac', sampleRate: 48_000 },
      { format: 'flac', sampleRate: 48_000 },
    ],
  ] as const)('makes music in the format %j', (fields, expected) => {
    expect(planJob(musicSpec(fields)).output).toMatchObject({ kind: 'music', seconds: 1, ...expected });
  });
});
