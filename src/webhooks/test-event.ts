import { toRequestId } from '../core/types/ids';
import type { WebhookBody } from './webhook-body-source';
import { type ClaimedDelivery, TEST_EVENT } from './webhook.types';

const MESSAGE = 'This is a test of your webhook, requested in the dashboard. It is not about a job.';

/** The body of a test event. Its delivery has the id of the dashboard request. */
export function testEventBody({ id, organizationId }: Pick<ClaimedDelivery, 'id' | 'organizationId'>): WebhookBody {
  const text = JSON.stringify({ event: TEST_EVENT, test: true, org_id: organizationId, message: MESSAGE });
  return { bytes: Buffer.from(text), requestId: toRequestId(id) };
}
