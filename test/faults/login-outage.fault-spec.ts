import { AccountsGateway, newEmail, type Visitor } from '../e2e/dashboard/accounts/visitor';
import { createRedis } from '../../src/core/redis/redis-client';
import { untilReady } from '../harness/redis';
import { until } from './figures';
import { RedisProcess } from './redis-process';

describe('guessing passwords during a Redis outage', () => {
  let redis: RedisProcess;
  let world: AccountsGateway;
  let clientsBefore: number;

  beforeAll(async () => {
    redis = await RedisProcess.start();
    world = await AccountsGateway.start({ REDIS_URL: redis.url });
  });
  afterAll(async () => {
    // What still connects to it would outlive the gateway: BullMQ waits 6 s for a command that `ioredis` has forgotten
    // (https://github.com/redis/ioredis/issues/1247).
    await redis.restart();
    await until('the connections of the gateway', 60_000, async () => (await countClients()) >= clientsBefore);
    await world.stop();
    await redis.stop();
  });

  /** Repeated while a busy machine answers 503, which is not a guess. */
  const guess = async (email: string, from: Visitor = world.visitor()): Promise<number> => {
    const { status } = await from.login(email, 'not the password');
    return status === 503 ? guess(email, from) : status;
  };

  /** Repeated for the same reason. */
  const logIn = async (email: string, from: Visitor): Promise<number> => {
    const { status } = await from.login(email);
    return status === 503 ? logIn(email, from) : status;
  };

  const countClients = async (): Promise<number> => {
    const client = createRedis(redis.url);
    await untilReady(client);
    const list = (await client.client('LIST')) as string;
    client.disconnect();
    return list.trim().split('\n').length;
  };

  it('allows ten failures from one network, and still admits owners from another', async () => {
    const [user, other] = [await world.user(), await world.user()];
    clientsBefore = await countClients();
    await redis.stop();
    const attacker = world.visitor();
    const guesses = await Promise.all(Array.from({ length: 14 }, () => guess(user.email, attacker)));
    expect(guesses.filter((status) => status === 401)).toHaveLength(10);
    expect(guesses.filter((status) => status === 429)).toHaveLength(4);
    expect(await guess(newEmail(), attacker)).toBe(401);

    expect(await logIn(other.email, other.visitor)).toBe(200);
    await until('the session', 60_000, async () => (await other.visitor.status()) === 200);
    expect(await logIn(user.email, user.visitor)).toBe(200);
  });
});
