import { planOf } from './limit-check';
import { LimitCall } from './limit-call';
import type { LimitConnection } from './limit-connection';
import { BUCKETS_PER_WINDOW } from './limit-script';

/** The key counts one probe. */
const MAX_PROBES = 1;

/**
 * Counts one request at a new key, which expires after a second. This shows that the script runs and may write.
 * @throws Error when Redis does not answer, or cannot check limits
 */
export async function probeLimits(connection: LimitConnection, redisKey: string): Promise<void> {
  const plan = planOf([{ scope: 'global', kind: 'requests_per_second', limit: MAX_PROBES, redisKey, windowMs: 1_000 }]);
  const call = new LimitCall(0, BUCKETS_PER_WINDOW);
  call.addRequest({ member: '', plan, tokens: 0 });
  const { results } = await connection.runScript(call);
  if (results[0]?.[0] === -1) throw new Error('the key of the probe cannot be read');
}
