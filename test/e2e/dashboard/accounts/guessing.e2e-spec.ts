import { randomInt, randomUUID } from 'node:crypto';
import { PasswordHasher } from '../../../../src/dashboard/accounts/password-hasher';
import { OrganizationService } from '../../../../src/dashboard/organizations/organization.service';
import { GatewayError } from '../../../../src/core/errors/gateway-error';
import { digestToken, generateToken } from '../../../../src/core/secrets/secret-token';
import { COMMAND_LINE } from '../../../../src/core/types/actor';
import { AccountsGateway, newEmail, substanceOf, type Visitor } from './visitor';

const INVALID = { status: 401, json: { error: { code: 'invalid_credentials' } } };

const times = (count: number, status: number): number[] => Array.from({ length: count }, () => status);

describe('login attempts', () => {
  let world: AccountsGateway;

  beforeAll(async () => {
    world = await AccountsGateway.start({ SIGN_IN_ATTEMPTS_PER_ADDRESS: '30' });
  });
  afterAll(() => world.stop());

  const statuses = async (replies: Promise<{ status: number }>[]) =>
    (await Promise.all(replies)).map(({ status }) => status).toSorted();

  it('return the same response for an unknown e-mail and a wrong password', async () => {
    const { email } = await world.user();
    const wrong = await world.visitor().login(email, 'not the password');
    const unknown = await world.visitor().login(newEmail(), 'not the password');
    expect(wrong).toMatchObject(INVALID);
    expect(substanceOf(wrong)).toEqual(substanceOf(unknown));
  });

  it.each(['a known', 'an unknown'])(
    'fail exactly ten times in 15 minutes for %s e-mail from one network, under concurrency',
    async (kind) => {
      const email = kind === 'a known' ? (await world.user()).email : newEmail();
      const guesser = world.visitor();
      const failed = times(10, 401);
      const guesses = Array.from({ length: 25 }, () => guesser.login(email, 'not the password'));
      await expect(statuses(guesses)).resolves.toEqual([...failed, ...times(15, 429)]);
      const refused = await guesser.login(email);
      expect(refused).toMatchObject({ status: 429, json: { error: { code: 'rate_limited' } } });
      const retryAfter = Number(refused.headers.get('retry-after'));
      expect(retryAfter).toBeGreaterThan(14 * 60);
      expect(retryAfter).toBeLessThanOrEqual(15 * 60);
      // The owner can still log in from another network.
      await expect(world.visitor().login(email)).resolves.toMatchObject({ status: kind === 'a known' ? 200 : 401 });
      world.clock.moveMinutes(15);
      await expect(guesser.login(email)).resolves.toMatchObject({ status: kind === 'a known' ? 200 : 401 });
    },
  );

  it.each(['a known', 'an unknown'])(
    'fail a hundred times for %s e-mail from all networks; a known network of the owner is exempt',
    async (kind) => {
      const { email, visitor: owner } =
        kind === 'a known' ? await world.signedIn() : { email: newEmail(), visitor: world.visitor() };
      const hasher = world.gateway.app.get(PasswordHasher, { strict: false });
      const spy = jest.spyOn(hasher, 'verify').mockResolvedValue({ matches: false, isOutdated: false });
      const visitors = Array.from({ length: 12 }, () => world.visitor());
      const guesses = visitors.flatMap((guesser) => times(9, 0).map(() => guesser.login(email, 'not the password')));
      await expect(statuses(guesses)).resolves.toEqual([...times(100, 401), ...times(8, 429)]);
      spy.mockRestore();
      await expect(world.visitor().login(email)).resolves.toMatchObject({ status: 429 });
      await expect(owner.login(email)).resolves.toMatchObject({ status: kind === 'a known' ? 200 : 429 });
    },
  );

  it('reset the account limit after a success, but not the network limit', async () => {
    const { email, visitor } = await world.user();
    const fail = (count: number, of: string) =>
      statuses(Array.from({ length: count }, () => visitor.login(of, 'not the password')));
    await expect(fail(9, email)).resolves.toEqual(times(9, 401));
    await expect(visitor.login(email)).resolves.toMatchObject({ status: 200 });
    await expect(fail(9, email)).resolves.toEqual(times(9, 401));
    await expect(visitor.login(email)).resolves.toMatchObject({ status: 200 });
    // 18 of 30 for this network so far.
    await expect(fail(9, newEmail())).resolves.toEqual(times(9, 401));
    await expect(fail(5, newEmail())).resolves.toEqual([401, 401, 401, 429, 429]);
    await expect(visitor.login(email)).resolves.toMatchObject({ status: 429 });
    await expect(world.visitor().login(email)).resolves.toMatchObject({ status: 200 });
  });

  it('count for one network in any notation and port that a proxy sends', async () => {
    const address = `10.${randomInt(256)}.${randomInt(256)}.${randomInt(256)}`;
    const spellings = (round: number) => [`${address}:${50_000 + round}`, `[::ffff:${address}]:${50_000 + round}`];
    const guess = (from: string) =>
      world.visitor().post('/login', { email: newEmail(), password: 'not the password' }, { 'x-forwarded-for': from });
    for (let round = 0; round < 15; round++) {
      await expect(statuses(spellings(round).map(guess))).resolves.toEqual([401, 401]);
    }
    await expect(guess(`${address}:60000`)).resolves.toMatchObject({ status: 429 });
    await expect(guess(address)).resolves.toMatchObject({ status: 429 });
  });

  it('do not count when they were refused with Retry-After before the password check', async () => {
    const { email, visitor } = await world.user();
    const hasher = world.gateway.app.get(PasswordHasher, { strict: false });
    const busy = new GatewayError('rate_limited', 'Too many.', { retryAfterSeconds: 1 });
    const spy = jest.spyOn(hasher, 'verify').mockRejectedValue(busy);
    for (let round = 0; round < 12; round++) {
      const reply = await visitor.login(email);
      expect([reply.status, reply.headers.get('retry-after')]).toEqual([429, '1']);
    }
    spy.mockRestore();
    await expect(visitor.login(email)).resolves.toMatchObject({ status: 200 });
  });

  it('also count on password change', async () => {
    const { email, visitor } = await world.signedIn();
    const guess = () =>
      visitor.post('/me/password', { current_password: 'not the password', new_password: 'another password' });
    const failed = times(10, 401);
    await expect(statuses(Array.from({ length: 12 }, guess))).resolves.toEqual([...failed, 429, 429]);
    await expect(visitor.login(email)).resolves.toMatchObject({ status: 429 });
  });
});

describe('guessed tokens of invitations', () => {
  let world: AccountsGateway;

  beforeAll(async () => {
    world = await AccountsGateway.start({ SIGN_IN_ATTEMPTS_PER_ADDRESS: '5' });
  });
  afterAll(() => world.stop());

  const preview = (from: Visitor, token: string) => from.post('/invitations/preview', { token });
  const statusesOf = async (count: number, from: Visitor) =>
    (await Promise.all(times(count, 0).map(() => preview(from, generateToken())))).map(({ status }) => status);

  it('are limited exactly per network in 15 minutes, under concurrency', async () => {
    const guesser = world.visitor();
    expect((await statusesOf(8, guesser)).toSorted()).toEqual([...times(5, 404), ...times(3, 429)]);
    await expect(statusesOf(1, world.visitor())).resolves.toEqual([404]);
    world.clock.moveMinutes(15);
    await expect(statusesOf(1, guesser)).resolves.toEqual([404]);
  });

  it('do not include the valid token, however often it is shown', async () => {
    const token = generateToken();
    const { id: organizationId } = await world.gateway.app
      .get(OrganizationService, { strict: false })
      .create({ name: 'Acme' }, COMMAND_LINE);
    await world.gateway.rows(
      `INSERT INTO organization_invitation (id, organization_id, email, email_key, role, digest, created_at, expires_at)
       VALUES ($1, $2, 'a@example.com', 'a@example.com', 'viewer', $3, now(), now() + interval '1 day')`,
      [randomUUID(), organizationId, digestToken(token)],
    );
    const guest = world.visitor();
    for (let round = 0; round < 7; round++) {
      const { status, json } = await preview(guest, token);
      expect([status, json.organization_name, json.invited_by]).toEqual([200, 'Acme', null]);
    }
    expect((await statusesOf(6, guest)).toSorted()).toEqual([...times(5, 404), 429]);
  });
});
