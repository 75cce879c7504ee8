import { percentile } from './percentile';

describe('a percentile', () => {
  it('is one of the values, by nearest rank', () => {
    const values = [30, 10, 20, 50, 40];
    expect([0, 0.2, 0.5, 0.95, 1].map((share) => percentile(values, share))).toEqual([10, 10, 30, 50, 50]);
  });

  it('does not exist without values', () => {
    expect(percentile([], 0.5)).toBeNull();
  });
});
