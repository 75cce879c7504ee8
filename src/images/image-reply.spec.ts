import * as fc from 'fast-check';
import type { ResponseBytes } from '../auth/idempotency/response-store';
import type { Bill } from '../inference/inference.types';
import { NO_USAGE } from '../providers/contract/usage';
import { renderImages, unpackReply, type ReplyItem } from './image-reply';

const toBuffer = (bytes: ResponseBytes, end: string): Buffer =>
  Buffer.concat([bytes, end].flat().map((piece) => Buffer.from(piece as string)));
const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');

const revisedPrompt = fc.option(fc.oneof(fc.string({ unit: 'binary' }), fc.constant('a "b64_json":"" b')), {
  nil: null,
});
const size = fc.constantFrom(null, '1024x1024', '1344x768');
const image = fc.oneof(
  fc.record({ url: fc.webUrl({ withQueryParameters: true }), revisedPrompt, size }),
  fc.record({ bytes: fc.uint8Array({ minLength: 1, maxLength: 64 }), revisedPrompt, size }),
);
type Image = typeof image extends fc.Arbitrary<infer Value> ? Value : never;

const toItem = (each: Image): ReplyItem =>
  'url' in each ? each : { ...each, bytes: Buffer.from(each.bytes), base64: [Buffer.from(base64(each.bytes))] };
const bill: Bill = { costMicro: 7n, usage: { ...NO_USAGE, images: 3 }, usageEstimated: false };

/** The response has a size if all images have the same size. */
function sizeOf(images: readonly Image[]): { readonly size?: string } {
  const [size = null, ...others] = new Set(images.map((each) => each.size));
  return size === null || others.length > 0 ? {} : { size };
}

describe('renderImages', () => {
  it('renders the image response around its cost for any images and prompts', () => {
    fc.assert(
      fc.property(fc.array(image, { minLength: 1, maxLength: 10 }), (images) => {
        const { head, tail, contentType } = renderImages(images.map(toItem), 1_700_000_000, bill);
        expect(contentType).toMatch(/^application\/json/);
        expect(JSON.parse(toBuffer(head, `7${tail}`).toString())).toEqual({
          created: 1_700_000_000,
          data: images.map((each) => ({
            ...('url' in each ? { url: each.url } : { b64_json: base64(each.bytes) }),
            ...(each.revisedPrompt !== null && { revised_prompt: each.revisedPrompt }),
          })),
          ...sizeOf(images),
          usage: { images: 3, x_llm_cost_micro: 7 },
        });
      }),
    );
  });

  it('restores the identical response from its packed form, which is a quarter shorter', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(image, { minLength: 1, maxLength: 10 }), async (images) => {
        const { head, keptHead, tail } = renderImages(images.map(toItem), 1_700_000_000, bill);
        const sent = toBuffer(head, `7${tail}`);
        const kept = toBuffer(keptHead ?? head, `7${tail}`);
        const headers = { 'content-type': 'application/json' };
        const unpacked =
          keptHead === undefined
            ? { status: 200, headers, body: kept }
            : await unpackReply({ status: 200, headers, body: kept });
        expect({ ...unpacked, body: toBuffer(unpacked.body, '') }).toEqual({ status: 200, headers, body: sent });
      }),
    );
    const bytes = Buffer.alloc(300_000, 7);
    const { head, keptHead = '' } = renderImages(
      [{ bytes, base64: [Buffer.from(base64(bytes))], revisedPrompt: null, size: null }],
      1,
      bill,
    );
    expect(toBuffer(keptHead, '').length / toBuffer(head, '').length).toBeCloseTo(0.75, 2);
  });
});
