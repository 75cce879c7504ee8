import { FakeUpstream } from '../../../../test/conformance/fake-upstream';
import { disconnect, fault, json, script } from '../../../../test/conformance/media-answers';
import { imageRequest } from '../../../../test/conformance/media-requests';
import { providerCall, providerErrorOf } from '../../../../test/conformance/provider-call';
import { PNG } from '../../../../test/conformance/media-uses';
import type { ImageResult } from '../../contract/images';
import type { Provider } from '../../contract/provider';
import { BflProvider } from './bfl.module';
import { toGeneration } from './bfl-images';
import { RegionalHosts } from './regional-hosts';

describe('BflImages', () => {
  let upstream: FakeUpstream;
  let provider: Provider;
  beforeEach(async () => {
    upstream = await FakeUpstream.start();
    provider = new BflProvider().create({ BFL_API_KEY: 'key', BFL_BASE_URL: `${upstream.origin}/v1` }) as Provider;
  });
  afterEach(async () => {
    await provider.close();
    await upstream.stop();
  });
  const generate = () => provider.images?.generate(imageRequest(), providerCall()) as Promise<unknown>;
  const accepted = () => json({ id: '1', polling_url: `${upstream.origin}/v1/get_result?id=1` });
  const submissions = () => upstream.received.filter(({ url }) => !url.includes('get_result'));

  it('waits for the image through failing polls, and submits once', async () => {
    const sample = 'https://delivery.bfl.ai/one.png';
    upstream.answer = script(
      accepted(),
      json({ status: 'Pending' }),
      fault(503),
      disconnect,
      json({ status: 'Generating' }),
      json({ status: 'Ready', result: { sample } }),
    );
    await expect(generate()).resolves.toMatchObject({ images: [{ url: sample }] });
    expect(submissions()).toHaveLength(1);
  });

  it.each([
    ['with the result', 3, 4.5, 4.5],
    ['at the submission', 3, null, 3],
    ['nowhere', null, undefined, undefined],
  ])('bills the credits that are reported %s', async (_where, atSubmission, withResult, units) => {
    const polling_url = `${upstream.origin}/v1/get_result?id=1`;
    const result = { sample: 'https://delivery.bfl.ai/one.png' };
    upstream.answer = script(
      json({ polling_url, cost: atSubmission }),
      json({ status: 'Ready', result, cost: withResult }),
    );
    expect(((await generate()) as ImageResult).usage?.units).toBe(units);
  });

  it('allows no other attempt when the response to the submission is lost', async () => {
    upstream.answer = disconnect;
    const { options } = await providerErrorOf(generate());
    expect([options.outcomeUnknown, upstream.received.length]).toEqual([true, 1]);
  });

  it('allows no other attempt when the accepted task cannot be found', async () => {
    upstream.answer = script(accepted(), json({ status: 'Task not found' }, 404));
    const { options } = await providerErrorOf(generate());
    expect([options.fallback, options.outcomeUnknown, options.upstream?.status, submissions().length]).toEqual([
      false,
      true,
      undefined,
      1,
    ]);
  });

  it.each(['Error', 'Failed'])('knows that a task with the status %s made no image', async (status) => {
    upstream.answer = script(accepted(), json({ status, result: null }));
    const { code, options } = await providerErrorOf(generate());
    expect([code, options.fallback, options.outcomeUnknown, submissions().length]).toEqual([
      'provider_error',
      false,
      undefined,
      1,
    ]);
  });
});

describe('toGeneration', () => {
  it('sends the size in pixels and every input image', () => {
    const base64 = PNG.bytes.toString('base64');
    expect(toGeneration(imageRequest({ size: '1536x1024', images: [PNG, PNG] }), providerCall())).toEqual({
      prompt: 'a lighthouse',
      width: 1536,
      height: 1024,
      output_format: 'png',
      input_image: base64,
      input_image_2: base64,
    });
  });

  it.each([
    ['flux-2-pro', 8],
    ['flux-2-klein-9b', 4],
    ['flux-kontext-pro', 4],
  ])('sends %s at most %i input images, and refuses further ones', (upstreamModel, most) => {
    const call = providerCall({ upstreamModel });
    const generationOf = (images: number) =>
      toGeneration(imageRequest({ images: Array.from({ length: images }, () => PNG) }), call);
    expect(generationOf(most)).toHaveProperty(`input_image_${most}`);
    expect(() => generationOf(most + 1)).toThrow(
      expect.objectContaining({ options: expect.objectContaining({ param: 'input_images', phase: 'connect' }) }),
    );
  });

  it('sends the aspect ratio where there is no other measure', () => {
    const call = providerCall({ quirks: { imageSize: 'aspect_ratio' } });
    expect(toGeneration(imageRequest({ size: '1344x768' }), call)).toMatchObject({ aspect_ratio: '16:9' });
  });

  it('sends an input image with its mask to Fill models', () => {
    const mask = { bytes: Buffer.from('mask'), contentType: 'image/png' } as const;
    const call = providerCall({ upstreamModel: 'flux-pro-1.0-fill' });
    expect(toGeneration(imageRequest({ images: [PNG], mask }), call)).toEqual({
      prompt: 'a lighthouse',
      image: PNG.bytes.toString('base64'),
      mask: mask.bytes.toString('base64'),
      output_format: 'png',
    });
    expect(() => toGeneration(imageRequest({ images: [PNG], mask, size: '1024x1024' }), call)).toThrow(
      expect.objectContaining({ options: expect.objectContaining({ param: 'size' }) }),
    );
  });

  it.each([{ mask: PNG }, { quality: 'high' }, { style: 'vivid' }, { size: 'large' }])('refuses %p', (option) => {
    const [param] = Object.keys(option);
    expect(() => toGeneration(imageRequest(option), providerCall())).toThrow(
      expect.objectContaining({ options: expect.objectContaining({ param, phase: 'connect' }) }),
    );
  });
});

describe('RegionalHosts', () => {
  const OFFICIAL = 'bfl.ai';
  const hosts = new RegionalHosts(new URL('https://api.bfl.ai/v1'), OFFICIAL, { 'x-key': 'key' });
  afterAll(() => hosts.close());

  it('accepts other hosts of the vendor', () => {
    expect(hosts.locate('https://api.us2.bfl.ai/v1/get_result?id=1')?.target).toBe('/v1/get_result?id=1');
    expect(hosts.locate('https://api.bfl.ai/v1/get_result?id=1')?.http).toBe(hosts.main);
  });

  it.each([
    ['https://bfl.ai', 'https://evil-bfl.ai/'],
    ['https://bfl.ai', 'https://bfl.ai.evil.com/'],
    ['https://proxy.co.uk', 'https://evil.co.uk/'],
    ['https://proxy.workers.dev', 'https://evil.workers.dev/'],
    ['https://proxy.example.com', 'https://other.example.com/'],
    ['https://10.0.0.1', 'https://110.0.0.1/'],
    ['https://proxy', 'https://evil-proxy/'],
    ['http://proxy:8080', 'http://proxy/'],
    ['https://proxy.example.com', 'https://api.bfl.ai.evil.com/'],
  ])('does not send the key of %s to %s', async (baseUrl, address) => {
    const own = new RegionalHosts(new URL(baseUrl), OFFICIAL, {});
    expect([own.locate(`${baseUrl}/r`)?.target, own.locate(address)]).toEqual(['/r', null]);
    await own.close();
  });

  it('sends the key of any base URL to the hosts of the vendor', async () => {
    const own = new RegionalHosts(new URL('https://proxy.example.com'), OFFICIAL, {});
    expect(own.locate('https://api.eu1.bfl.ai/v1/get_result')?.target).toBe('/v1/get_result');
    await own.close();
  });

  it.each([
    'https://evil-bfl.ai/',
    'https://api.us2.bfl.ai./',
    'https://bfl.ai.example.com/',
    'https://evilbfl.ai/',
    'http://api.us2.bfl.ai/',
    'https://api.us2.bfl.ai:8443/',
    'https://user@api.us2.bfl.ai/',
    'not an address',
    null,
  ])('sends the key nowhere else: %s', (address) => {
    expect(hosts.locate(address)).toBeNull();
  });
});
