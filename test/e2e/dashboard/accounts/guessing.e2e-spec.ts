import { randomInt } from 'node:crypto';
import { PasswordHasher } from '../../../../src/accounts/password-hasher';
import { GatewayError } from '../../../../src/common/errors/gateway-error';
import { AccountsGateway, newEmail, substanceOf } from './visitor';

const INVALID = { status: 401, json: { error: { code: 'invalid_credentials' } } };

const times = (count: number, status: number): number[] => Array.from({ length: count }, () => status);

describe('guessing', () => {
  let world: AccountsGateway;

  beforeAll(async () => {
    world = await AccountsGateway.start({ SIGN_IN_ATTEMPTS_PER_ADDRESS: '30' });
  });
  afterAll(() => world.stop());

  const statuses = async (replies: Promise<{ status: number }>[]) =>
    (await Promise.all(replies)).map(({ status }) => status).toSorted();

  it('says the same of an e-mail that nobody has as of a wrong password', async () => {
    const { email } = await world.user();
    const wrong = await world.visitor().login(email, 'not the password');
    const unknown = await world.visitor().login(newEmail(), 'not the password');
    expect(wrong).toMatchObject(INVALID);
    expect(substanceOf(wrong)).toEqual(substanceOf(unknown));
  });

  it.each(['a known', 'an unknown'])(
    'fails ten times for %s e-mail in 15 minutes, exactly, however many at once',
    async (kind) => {
      const email = kind === 'a known' ? (await world.user()).email : newEmail();
      const guess = () => world.visitor().login(email, 'not the password');
      const failed = times(10, 401);
      await expect(statuses(Array.from({ length: 25 }, guess))).resolves.toEqual([...failed, ...times(15, 429)]);
      const refused = await world.visitor().login(email);
      expect(refused).toMatchObject({ status: 429, json: { error: { code: 'rate_limited' } } });
      const retryAfter = Number(refused.headers.get('retry-after'));
      expect(retryAfter).toBeGreaterThan(14 * 60);
      expect(retryAfter).toBeLessThanOrEqual(15 * 60);
      world.clock.moveMinutes(15);
      await expect(world.visitor().login(email)).resolves.toMatchObject({ status: kind === 'a known' ? 200 : 401 });
    },
  );

  it('begins anew for an account after a success, and not for an address', async () => {
    const { email, visitor } = await world.user();
    const fail = (count: number, of: string) =>
      statuses(Array.from({ length: count }, () => visitor.login(of, 'not the password')));
    await expect(fail(9, email)).resolves.toEqual(times(9, 401));
    await expect(visitor.login(email)).resolves.toMatchObject({ status: 200 });
    await expect(fail(9, email)).resolves.toEqual(times(9, 401));
    await expect(visitor.login(email)).resolves.toMatchObject({ status: 200 });
    // 18 of 30 for this address so far.
    await expect(fail(9, newEmail())).resolves.toEqual(times(9, 401));
    await expect(fail(5, newEmail())).resolves.toEqual([401, 401, 401, 429, 429]);
    await expect(visitor.login(email)).resolves.toMatchObject({ status: 429 });
    await expect(world.visitor().login(email)).resolves.toMatchObject({ status: 200 });
  });

  it('counts for one address, whatever port and spelling a proxy gives it', async () => {
    const address = `10.${randomInt(256)}.${randomInt(256)}.${randomInt(256)}`;
    const spellings = (turn: number) => [`${address}:${50_000 + turn}`, `[::ffff:${address}]:${50_000 + turn}`];
    const guess = (from: string) =>
      world.visitor().post('/login', { email: newEmail(), password: 'not the password' }, { 'x-forwarded-for': from });
    for (let turn = 0; turn < 15; turn++) {
      await expect(statuses(spellings(turn).map(guess))).resolves.toEqual([401, 401]);
    }
    await expect(guess(`${address}:60000`)).resolves.toMatchObject({ status: 429 });
    await expect(guess(address)).resolves.toMatchObject({ status: 429 });
  });

  it('is not what was never judged: whoever is told to come back later has all attempts left', async () => {
    const { email, visitor } = await world.user();
    const hasher = world.gateway.app.get(PasswordHasher, { strict: false });
    const busy = new GatewayError('rate_limited', 'Too many.', { retryAfterSeconds: 1 });
    const spy = jest.spyOn(hasher, 'verify').mockRejectedValue(busy);
    for (let turn = 0; turn < 12; turn++) {
      const reply = await visitor.login(email);
      expect([reply.status, reply.headers.get('retry-after')]).toEqual([429, '1']);
    }
    spy.mockRestore();
    await expect(visitor.login(email)).resolves.toMatchObject({ status: 200 });
  });

  it('is counted where a password is changed, too', async () => {
    const { email, visitor } = await world.signedIn();
    const guess = () =>
      visitor.post('/me/password', { current_password: 'not the password', new_password: 'another password' });
    const failed = times(10, 401);
    await expect(statuses(Array.from({ length: 12 }, guess))).resolves.toEqual([...failed, 429, 429]);
    await expect(world.visitor().login(email)).resolves.toMatchObject({ status: 429 });
  });
});
