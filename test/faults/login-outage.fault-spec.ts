import { AccountsGateway, newEmail, type Visitor } from '../e2e/dashboard/accounts/visitor';
import { RedisProcess } from './redis-process';

describe('guessing passwords during a Redis outage', () => {
  let redis: RedisProcess;
  let world: AccountsGateway;

  beforeAll(async () => {
    redis = await RedisProcess.start();
    world = await AccountsGateway.start({ REDIS_URL: redis.url });
  });
  afterAll(async () => {
    // What still connects to it would outlive the gateway.
    await redis.restart();
    await world.stop();
    await redis.stop();
  });

  /** Repeated while a busy machine answers 503, which is not a guess. */
  const guess = async (email: string, from: Visitor = world.visitor()): Promise<number> => {
    const { status } = await from.login(email, 'not the password');
    return status === 503 ? guess(email, from) : status;
  };

  it('allows ten failures from one network, and still admits owners from another', async () => {
    const { email, visitor } = await world.user();
    await redis.stop();
    const attacker = world.visitor();
    const guesses = await Promise.all(Array.from({ length: 14 }, () => guess(email, attacker)));
    expect(guesses.filter((status) => status === 401)).toHaveLength(10);
    expect(guesses.filter((status) => status === 429)).toHaveLength(4);
    expect(await guess(newEmail(), attacker)).toBe(401);

    const other = await world.user();
    await expect(other.visitor.login(other.email)).resolves.toMatchObject({ status: 200 });
    expect(await other.visitor.status()).toBe(200);
    await expect(visitor.login(email)).resolves.toMatchObject({ status: 200 });
  });
});
