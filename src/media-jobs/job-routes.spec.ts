import { musicSpec } from '../../test/conformance/job-requests';
import type { CandidateSelector, RoutePlanner } from '../inference/route-planner';
import type { Candidate } from '../inference/inference.types';
import type { InferenceTarget } from '../inference/inference-target';
import type { RequestMapping } from '../providers/contract/request-mapping';
import type { Provider } from '../providers/contract/provider';
import type { ProvidersService } from '../providers/providers.service';
import { FalProvider } from '../providers/vendors/fal/fal.module';
import type { JobOrder, SpecifiedJob } from './job-order';
import { JobRoutes } from './job-routes';

const SUNG: RequestMapping = { map: { prompt: 'prompt' }, output: { audio: '$.audio.url' } };
const EITHER: RequestMapping = { ...SUNG, map: { ...SUNG.map, instrumental: 'is_instrumental' } };

let provider: Provider;
beforeAll(() => {
  provider = new FalProvider().create({ FAL_KEY: 'key', FAL_BASE_URL: 'http://127.0.0.1:9' }) as Provider;
});
afterAll(() => provider.close());

/** The mappings of the route of an instrumental piece. */
function routeOf(...mappings: readonly RequestMapping[]) {
  const candidates = mappings.map((mapping) => ({ provider, deployment: { mapping } }) as unknown as Candidate);
  const selector = { select: () => candidates } as unknown as CandidateSelector;
  const planner = { plan: () => candidates } as unknown as RoutePlanner;
  const job = {
    settings: { durationSeconds: 30 },
    outline: musicSpec({ instrumental: true, format: null }),
    params: () => ({}),
  } as unknown as SpecifiedJob;
  const target = { model: {}, fallbacks: [], routing: null } as unknown as InferenceTarget;
  const routes = new JobRoutes({} as ProvidersService, selector, planner);
  return routes.plan({ kind: 'music' } as JobOrder, job, target).map(({ deployment }) => deployment.mapping);
}

describe('the route of a job', () => {
  it('contains only deployments whose mapping supports the requested options', () => {
    expect(routeOf(SUNG, EITHER)).toEqual([EITHER]);
  });

  it('is refused with the field that no mapping of its deployments has', () => {
    expect(() => routeOf(SUNG, SUNG)).toThrow(
      expect.objectContaining({ code: 'validation_failed', param: 'instrumental' }),
    );
  });
});
