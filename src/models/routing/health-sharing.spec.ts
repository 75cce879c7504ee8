import type { RedisClient } from '../../core/redis/redis-client';
import { HealthSharing } from './health-sharing';

describe('HealthSharing', () => {
  it('counts no failures of other processes while Redis does not answer', async () => {
    const redis = { options: {}, eval: () => Promise.reject(new Error('Connection is closed.')) };
    const sharing = new HealthSharing(redis as unknown as RedisClient);
    await expect(sharing.countFailure('deployment', 60_000)).resolves.toBe(0);
  });
});
