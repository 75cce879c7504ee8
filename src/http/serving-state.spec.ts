import type { DrainService, OverloadDetector } from './availability';
import type { ReadinessService } from './readiness.service';
import { ServingState } from './serving-state';

const HEALTHY = { stopping: false, overloadedForMs: 9_999, isSchemaKnown: true };

const isServing = ({ stopping, overloadedForMs, isSchemaKnown }: typeof HEALTHY): Promise<boolean> =>
  new ServingState(
    { stopping } as DrainService,
    { overloadedForMs } as OverloadDetector,
    { knowsSchema: () => Promise.resolve(isSchemaKnown) } as ReadinessService,
  ).isServing();

describe('/serving', () => {
  it('is 200 through an overload of less than ten seconds', async () => {
    expect(await isServing(HEALTHY)).toBe(true);
  });

  it.each([
    ['a shutdown begins', { stopping: true }],
    ['an overload has lasted for ten seconds', { overloadedForMs: 10_000 }],
    ['the schema is not known to be up to date', { isSchemaKnown: false }],
  ])('is 503 when %s', async (_when, state) => {
    expect(await isServing({ ...HEALTHY, ...state })).toBe(false);
  });
});
