import { compilePrice } from '../pricing/price';
import { NO_USAGE } from '../../providers/contract/usage';
import { explainCharge } from './explain-charge';
import type { RequestDetails } from './usage.types';

const PRICE = compilePrice({
  tokens: { per_1m_micro: { input: 1_000_000, output: 2_000_000 } },
  request: { per_request_micro: 7 },
});

/** 10 tokens in, 5 out: 7 + 10 + 10. */
const REQUEST = {
  usage: { ...NO_USAGE, inputText: 10, outputText: 5 },
  usageEstimated: false,
  pricedBy: null,
  httpStatus: 200,
  chargedMicro: 27n,
  uncollectedMicro: 0n,
} as RequestDetails;

function partsOf(request: Partial<RequestDetails>, price: typeof PRICE | null = PRICE): [string, bigint][] {
  return explainCharge({ ...REQUEST, ...request }, price).map(({ unit, costMicro }) => [unit, costMicro]);
}

describe('explainCharge', () => {
  it('returns the lines of the price', () => {
    expect(partsOf({})).toEqual([
      ['request', 7n],
      ['inputText', 10n],
      ['outputText', 10n],
    ]);
  });

  it('subtracts the part that the balance did not cover', () => {
    expect(partsOf({ chargedMicro: 20n, uncollectedMicro: 7n }).at(-1)).toEqual(['uncollected', -7n]);
  });

  it('subtracts the cost above the hold of a job', () => {
    expect(partsOf({ chargedMicro: 20n }).at(-1)).toEqual(['correction', -7n]);
  });

  it('returns no lines for a failed request', () => {
    expect(partsOf({ httpStatus: 503, usage: NO_USAGE, chargedMicro: 0n })).toEqual([]);
  });

  it('returns lines for an interrupted request that was charged for its delivered output', () => {
    expect(partsOf({ httpStatus: 499 })).toHaveLength(3);
  });

  it('returns a single correction line when the price is unknown', () => {
    expect(partsOf({}, null)).toEqual([['correction', 27n]]);
  });

  it.each([0n, 5n, 27n, 40n])('returns lines that sum up to a charge of %d', (chargedMicro) => {
    const lines = partsOf({ chargedMicro, uncollectedMicro: 3n });
    expect(lines.reduce((sum, [, costMicro]) => sum + costMicro, 0n)).toBe(chargedMicro);
  });

  it('uses the stored size and quality of an image', () => {
    const price = compilePrice({
      image: {
        rows: [
          { size: '1024x1024', per_image_micro: 11 },
          { size: '*', per_image_micro: 99 },
        ],
      },
    });
    const image = { usage: { ...NO_USAGE, images: 2 }, pricedBy: { size: '1024x1024' }, chargedMicro: 22n };
    expect(partsOf(image, price)).toEqual([['image', 22n]]);
  });
});
