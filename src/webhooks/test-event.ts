import { toRequestId } from '../common/ids';
import type { WebhookBody } from './webhook-body-source';
import { type ClaimedDelivery, TEST_EVENT } from './webhook.types';

const MESSAGE = 'This is a test of your webhook. It was asked for in the dashboard and tells of no job.';

/** What a test event tells. Its delivery has the id of the request that asked for it. */
export function testEventBody({ id, organizationId }: Pick<ClaimedDelivery, 'id' | 'organizationId'>): WebhookBody {
  const text = JSON.stringify({ event: TEST_EVENT, test: true, org_id: organizationId, message: MESSAGE });
  return { bytes: Buffer.from(text), requestId: toRequestId(id) };
}
