import { hash } from '@node-rs/argon2';
import { UserAdministrationService } from '../../../../src/dashboard/accounts/user-administration.service';
import { PasswordHasher } from '../../../../src/dashboard/accounts/password-hasher';
import { SessionService } from '../../../../src/dashboard/accounts/session.service';
import { COMMAND_LINE } from '../../../../src/core/types/actor';
import { DataSource } from 'typeorm';
import { AccountsGateway, PASSWORD, substanceOf, type Visitor } from './visitor';

const UNAUTHENTICATED = { status: 401, json: { error: { code: 'unauthenticated' } } };
const INVALID = { status: 401, json: { error: { code: 'invalid_credentials' } } };

describe('a session', () => {
  let world: AccountsGateway;
  let administration: UserAdministrationService;

  beforeAll(async () => {
    world = await AccountsGateway.start();
    const { app } = world.gateway;
    administration = new UserAdministrationService(
      app.get(DataSource),
      world.clock,
      new PasswordHasher(),
      app.get(SessionService, { strict: false }),
    );
  });
  afterAll(() => world.stop());

  /** The same user in another browser. */
  async function elsewhere(email: string): Promise<Visitor> {
    const visitor = world.visitor();
    await visitor.login(email);
    return visitor;
  }

  it('sets a cookie with HttpOnly and SameSite', async () => {
    const { email, visitor } = await world.user();
    const reply = await visitor.login(email);
    expect(reply.json).toMatchObject({ object: 'login', user: { object: 'user', email } });
    const [cookie = ''] = reply.headers.getSetCookie();
    const [pair, ...attributes] = cookie.split('; ');
    expect(pair).toMatch(/^sid=[\w-]{43}$/);
    expect(attributes.filter((attribute) => !attribute.startsWith('Expires='))).toEqual([
      'Path=/',
      'HttpOnly',
      'SameSite=Lax',
    ]);
    const [stored] = await world.gateway.rows<{ row: string }>(
      'SELECT s::text AS row FROM user_session s WHERE id = $1',
      [reply.json.session_id],
    );
    expect(stored?.row).not.toContain(pair?.slice('sid='.length));
    expect(reply.text).not.toContain(pair?.slice('sid='.length));
  });

  it('never adopts a token that the client sends', async () => {
    const { email, visitor } = await world.user();
    const planted = `sid=${'A'.repeat(43)}`;
    visitor.cookie = planted;
    await visitor.login(email);
    expect(visitor.cookie).not.toBe(planted);
    const attacker = world.visitor();
    attacker.cookie = planted;
    await expect(attacker.get('/me')).resolves.toMatchObject(UNAUTHENTICATED);

    // Nor the token of another active session, which keeps its user.
    const [mallory, victim] = [await world.signedIn(), await world.user()];
    victim.visitor.cookie = mallory.visitor.cookie;
    await victim.visitor.login(victim.email);
    expect(victim.visitor.cookie).not.toBe(mallory.visitor.cookie);
    expect((await mallory.visitor.get('/me')).json.email).toBe(mallory.email);
  });

  it('ends on logout, which invalidates its cookie', async () => {
    const { visitor } = await world.signedIn();
    const { cookie } = visitor;
    const reply = await visitor.post('/logout');
    expect(reply.status).toBe(204);
    expect(reply.headers.getSetCookie()[0]).toMatch(/^sid=; .*Expires=Thu, 01 Jan 1970/);
    visitor.cookie = cookie;
    await expect(visitor.get('/me')).resolves.toMatchObject(UNAUTHENTICATED);
    await expect(visitor.post('/logout')).resolves.toMatchObject(UNAUTHENTICATED);
  });

  it('expires after 30 idle minutes, and is extended by use', async () => {
    const [used, idle] = [await world.signedIn(), await world.signedIn()];
    world.clock.moveMinutes(16);
    expect(await used.visitor.status()).toBe(200);
    world.clock.moveMinutes(15);
    expect([await used.visitor.status(), await idle.visitor.status()]).toEqual([200, 401]);
  });

  it('expires after twelve hours regardless of use', async () => {
    const { visitor } = await world.signedIn();
    for (let minutes = 0; minutes < 12 * 60 - 20; minutes += 20) {
      world.clock.moveMinutes(20);
      expect(await visitor.status()).toBe(200);
    }
    world.clock.moveMinutes(20);
    await expect(visitor.get('/me')).resolves.toMatchObject(UNAUTHENTICATED);
  });

  it('ends on password change; the caller gets a new session', async () => {
    const { email, visitor } = await world.signedIn();
    const other = await elsewhere(email);
    const former = visitor.cookie;
    await visitor.post('/password-resets', { email });
    const token = world.tokenTo(email);
    const next = 'another password of these tests';

    const wrong = await visitor.post('/me/password', { current_password: 'not the password', new_password: next });
    expect(wrong).toMatchObject(INVALID);
    expect(await other.status()).toBe(200);
    const changed = await visitor.post('/me/password', { current_password: PASSWORD, new_password: next });
    expect(changed.status).toBe(204);

    expect(visitor.cookie).not.toBe(former);
    expect([await visitor.status(), await other.status()]).toEqual([200, 401]);
    const thief = world.visitor();
    thief.cookie = former;
    expect(await thief.status()).toBe(401);
    await expect(visitor.login(email)).resolves.toMatchObject(INVALID);
    await expect(thief.post('/password-resets/confirm', { token, password: PASSWORD })).resolves.toMatchObject({
      status: 404,
    });
    await expect(elsewhere(email).then(({ cookie }) => cookie)).resolves.toBeUndefined();
  });

  it('ends at once when its user is disabled; login returns account_disabled only for the right password', async () => {
    const { email, visitor } = await world.signedIn();
    await administration.disable(email, COMMAND_LINE);
    await expect(visitor.get('/me')).resolves.toMatchObject(UNAUTHENTICATED);
    await expect(visitor.login(email)).resolves.toMatchObject({
      status: 403,
      json: { error: { code: 'account_disabled' } },
    });
    await expect(visitor.login(email, 'not the password')).resolves.toMatchObject(INVALID);
    await administration.enable(email, COMMAND_LINE);
    expect(await visitor.status()).toBe(401);
    await expect(visitor.login(email)).resolves.toMatchObject({ status: 200 });
  });

  it('is not created when the password changes or the user is disabled during verification', async () => {
    const hasher = world.gateway.app.get(PasswordHasher, { strict: false });
    const verify = hasher.verify.bind(hasher);
    const next = 'another password of these tests';
    const changes = [
      { change: (email: string) => administration.setPassword(email, next, COMMAND_LINE), refusal: INVALID },
      { change: (email: string) => administration.disable(email, COMMAND_LINE), refusal: { status: 403 } },
    ];
    for (const { change, refusal } of changes) {
      const { email, visitor } = await world.user();
      const spy = jest.spyOn(hasher, 'verify').mockImplementationOnce(async (...judged) => {
        const verdict = await verify(...judged);
        await change(email);
        return verdict;
      });
      await expect(visitor.login(email)).resolves.toMatchObject(refusal);
      expect(visitor.cookie).toBeUndefined();
      spy.mockRestore();
    }
  });

  it('rehashes the password at login when the hash parameters have changed', async () => {
    const { email, visitor } = await world.user();
    const stored = async () => {
      const [row] = await world.gateway.rows<{ hash: string }>(
        'SELECT password_hash AS hash FROM user_account WHERE email = $1',
        [email],
      );
      return row?.hash ?? '';
    };
    const weaker = await hash(PASSWORD, { memoryCost: 8_192, timeCost: 1, parallelism: 1 });
    await world.gateway.rows('UPDATE user_account SET password_hash = $2 WHERE email = $1', [email, weaker]);
    const logins = await Promise.all([1, 2, 3].map(() => visitor.login(email)));
    expect(logins.map(({ status }) => status)).toEqual([200, 200, 200]);
    const renewed = await stored();
    expect(renewed).toContain('$m=19456,t=2,p=1$');
    await expect(visitor.login(email)).resolves.toMatchObject({ status: 200 });
    expect(await stored()).toBe(renewed);
  });

  it('applies one of several concurrent password changes', async () => {
    const { visitor } = await world.signedIn();
    const change = (next: string) => visitor.post('/me/password', { current_password: PASSWORD, new_password: next });
    const replies = await Promise.all(['one password', 'two passwords', 'more passwords'].map(change));
    expect(replies.map(({ status }) => status).toSorted()).toEqual([204, 401, 401]);
  });

  it('is listed to its user, who alone can end it remotely', async () => {
    const { email, visitor } = await world.signedIn();
    const other = await elsewhere(email);
    const { json } = await visitor.get('/sessions');
    expect(json.data).toHaveLength(2);
    const [newest, own] = json.data;
    expect(own).toMatchObject({ object: 'session', is_current: true, address: visitor.address });
    expect(newest).toMatchObject({ is_current: false, address: other.address });

    const otherUser = await world.signedIn();
    const end = (by: Visitor, id: string) => by.call(`/sessions/${id}`, { method: 'DELETE' });
    const refusals = [await end(otherUser.visitor, newest.id), await end(visitor, 'no-id'), await end(visitor, own.id)];
    expect(substanceOf(refusals[0] as never)).toEqual(substanceOf(refusals[1] as never));
    expect(refusals.map(({ status }) => status)).toEqual([404, 404, 204]);
    expect([await visitor.status(), await other.status()]).toEqual([401, 200]);
    await expect(end(other, newest.id)).resolves.toMatchObject({ status: 204 });
    expect(await other.status()).toBe(401);
  });

  it('is one of at most fifty per user: the oldest end', async () => {
    const { email, visitor } = await world.signedIn();
    const sessions = world.gateway.app.get(SessionService, { strict: false });
    const { userId } = (
      await world.gateway.rows<{ userId: string }>('SELECT id AS "userId" FROM user_account WHERE email = $1', [email])
    )[0] as { userId: string };
    for (let count = 0; count < 60; count++) await sessions.create(userId, { address: null, userAgent: null });
    const newest = await elsewhere(email);
    expect((await newest.get('/sessions')).json.data).toHaveLength(50);
    expect([await newest.status(), await visitor.status()]).toEqual([200, 401]);
  });

  it('refuses changes without X-Requested-With or from another site', async () => {
    const { email, visitor } = await world.signedIn();
    const body = { email, password: PASSWORD };
    const refused = [
      await world.visitor().post('/login', body, { 'x-requested-with': '' }),
      await world.visitor().post('/login', body, { origin: 'https://evil.example' }),
      await visitor.post('/logout', undefined, { 'sec-fetch-site': 'cross-site' }),
    ];
    for (const reply of refused) {
      expect(reply).toMatchObject({ status: 403, json: { error: { code: 'csrf_failed' } } });
    }
    expect(await visitor.status()).toBe(200);
  });

  it('shows the signed-in user and updates the name', async () => {
    const { visitor } = await world.signedIn();
    const reply = await visitor.call('/me', { method: 'PATCH', body: { name: ' Ada King ' } });
    expect(reply).toMatchObject({ status: 200, json: { name: 'Ada King', memberships: [{ role: 'owner' }] } });
    expect((await visitor.get('/me')).json).toEqual(reply.json);
    await expect(visitor.call('/me', { method: 'PATCH', body: { name: '\u0000' } })).resolves.toMatchObject({
      status: 400,
      json: { error: { param: 'name' } },
    });
  });
});

describe('a session over https', () => {
  let world: AccountsGateway;

  beforeAll(async () => {
    world = await AccountsGateway.start({ SESSION_COOKIE_SECURE: 'true' });
  });
  afterAll(() => world.stop());

  it('sets a __Host- cookie with Secure', async () => {
    const { email, visitor } = await world.user();
    const [cookie = ''] = (await visitor.login(email)).headers.getSetCookie();
    const attributes = cookie.split('; ').filter((attribute) => !attribute.startsWith('Expires='));
    expect(attributes).toEqual([expect.stringMatching(/^__Host-sid=/), 'Path=/', 'HttpOnly', 'Secure', 'SameSite=Lax']);
    expect(await visitor.status()).toBe(200);
    visitor.cookie = visitor.cookie?.replace('__Host-sid', 'sid');
    expect(await visitor.status()).toBe(401);
  });
});

describe('a session with an idle timeout of a minute', () => {
  let world: AccountsGateway;

  beforeAll(async () => {
    world = await AccountsGateway.start({ SESSION_IDLE_MINUTES: '1' });
  });
  afterAll(() => world.stop());

  it('is extended by use, and expires when idle', async () => {
    const { visitor } = await world.signedIn();
    for (let round = 0; round < 4; round++) {
      world.clock.moveMinutes(0.5);
      expect(await visitor.status()).toBe(200);
    }
    world.clock.moveMinutes(1);
    expect(await visitor.status()).toBe(401);
  });
});
