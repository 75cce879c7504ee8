import { Logger } from '@nestjs/common';
import { UNTRACED } from '../../test/harness/span-collector';
import { Metrics } from '../core/observability/metrics/catalogue';
import { systemClock } from '../core/time/clock';
import { WebhookAttemptService } from './webhook-attempt.service';
import type { ClaimedDelivery } from './webhook.types';

const UNREADABLE = new Set(['org-a', 'org-b']);

/** Attempts of organizations, some of which have secrets that cannot be read. The jobs of the others are deleted. */
function createService(): WebhookAttemptService {
  const deliveries = { withdraw: () => Promise.resolve(), putBack: () => Promise.resolve() };
  const secrets = {
    require: (organizationId: string) =>
      UNREADABLE.has(organizationId) ? Promise.reject(new Error('another SECRETS_KEY')) : Promise.resolve('whsec_'),
  };
  const source = { build: () => Promise.resolve(null) };
  return new WebhookAttemptService(
    deliveries as never,
    secrets as never,
    source,
    {} as never,
    new Metrics(),
    UNTRACED,
    systemClock,
  );
}

afterEach(() => jest.restoreAllMocks());

it('logs once for each organization that its messages cannot be built, whatever becomes of those of others', async () => {
  const logged = jest.spyOn(Logger.prototype, 'error').mockImplementation();
  const service = createService();
  for (const organizationId of ['org-a', 'org-b', 'org-c', 'org-a', 'org-b']) {
    const delivery = { id: `of-${organizationId}`, jobId: 'job', event: 'job.completed', organizationId };
    await service.make(delivery as ClaimedDelivery, systemClock.monotonic());
  }
  expect(logged.mock.calls.map(([line]) => line)).toMatchObject([
    { event: 'webhook_build_failed', organization_id: 'org-a' },
    { event: 'webhook_build_failed', organization_id: 'org-b' },
  ]);
});
