import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { providerCall, providerErrorOf } from '../../../../../test/conformance/provider-call';
import { MockMediaStage } from '../../../../../test/harness/mock-media';

const AT_ONCE = 'queued=0 run=0';
const call = providerCall();

let stage: MockMediaStage;
beforeEach(async () => {
  stage = await MockMediaStage.create();
});
afterEach(() => stage.remove());

describe('an output', () => {
  it('is made on demand, the same each time, and not kept after it was fetched', async () => {
    const handle = await stage.submit(AT_ONCE);
    const broken = await stage.openFirst(handle);
    expect(await readdir(stage.directory)).toContain('token-1.0.output');
    broken.destroy();
    const first = await buffer(await stage.openFirst(handle));
    expect(await readdir(stage.directory)).not.toContain('token-1.0.output');
    expect((await buffer(await stage.openFirst(handle))).equals(first)).toBe(true);
    expect(await stage.eventNames()).toEqual(['submitted', 'opened', 'opened', 'delivered', 'opened', 'delivered']);
  });

  it('is read from the directory when another process has made it', async () => {
    const handle = await stage.submit(AT_ONCE);
    await writeFile(join(stage.directory, 'token-1.0.output'), 'made elsewhere');
    expect(String(await buffer(await stage.openFirst(handle)))).toBe('made elsewhere');
  });

  it('differs from the other outputs of its job', async () => {
    const outputs = await stage.outputs(await stage.submit(`${AT_ONCE} outputs=2`));
    const files = await Promise.all(outputs.map(async (output) => buffer(await stage.jobs.open(output, call))));
    expect(files.map((file) => file.subarray(0, 4).toString())).toEqual(['RIFF', 'RIFF']);
    expect(files[0]?.equals(files[1] as Buffer)).toBe(false);
  });

  it('expires an hour after the job has finished', async () => {
    const handle = await stage.submit(AT_ONCE);
    stage.advance(3_600_000);
    (await stage.openFirst(handle)).destroy();
    stage.advance(1);
    expect((await providerErrorOf(stage.openFirst(handle))).options.upstream?.status).toBe(410);
  });

  it.each(['mock-media:token-1/1', 'mock-media:other/0', 'https://example.com/', null])(
    'is not found under %s',
    async (url) => {
      await stage.submit(AT_ONCE);
      const opening = stage.jobs.open({ type: 'audio', url }, call);
      expect((await providerErrorOf(opening)).options.upstream?.status).toBe(404);
    },
  );

  it('is not found before the job has finished', async () => {
    await stage.submit('');
    const opening = stage.jobs.open({ type: 'audio', url: 'mock-media:token-1/0' }, call);
    expect((await providerErrorOf(opening)).code).toBe('provider_error');
  });

  it('is truncated with artifact=broken, the scripted number of times', async () => {
    const handle = await stage.submit(`${AT_ONCE} artifact=broken times=1`);
    const stream = await stage.openFirst(handle);
    let bytes = 0;
    stream.on('data', (piece: Buffer) => (bytes += piece.length));
    await expect(new Promise((_resolve, reject) => stream.once('error', reject))).rejects.toMatchObject({
      code: 'stream_interrupted',
    });
    const whole = await buffer(await stage.openFirst(handle));
    expect(bytes).toBe(Math.floor(whole.length / 2));
  });

  it('is not found with artifact=missing, and is a web page with artifact=wrong', async () => {
    const missing = await stage.submit(`${AT_ONCE} artifact=missing`, 'missing');
    expect((await providerErrorOf(stage.openFirst(missing))).options.upstream?.status).toBe(404);
    const wrong = await stage.submit(`${AT_ONCE} artifact=wrong`, 'wrong');
    expect(String(await buffer(await stage.openFirst(wrong)))).toContain('<!doctype html>');
  });

  it('never ends with artifact=huge, and respects back-pressure', async () => {
    const stream = await stage.openFirst(await stage.submit(`${AT_ONCE} artifact=huge`));
    let bytes = 0;
    for await (const piece of stream) {
      bytes += (piece as Buffer).length;
      if (bytes > 4_000_000) break;
    }
    expect([bytes > 4_000_000, stream.destroyed]).toEqual([true, true]);
  });

  it('is slow with artifact=slow, and stops when the call is aborted', async () => {
    const abort = new AbortController();
    const stream = await stage.openFirst(await stage.submit(`${AT_ONCE} artifact=slow`), { signal: abort.signal });
    const pieces: number[] = [];
    const end = new Promise((_resolve, reject) => stream.once('error', reject));
    stream.on('data', (piece: Buffer) => {
      pieces.push(piece.length);
      abort.abort();
    });
    await expect(end).rejects.toMatchObject({ code: 'provider_disconnect' });
    expect(pieces).toEqual([4_096]);
  });
});
