import { AccountsGateway, newEmail, PASSWORD, substanceOf } from './visitor';

const NAME = 'Ada Lovelace';

describe('registration', () => {
  let world: AccountsGateway;

  beforeAll(async () => {
    world = await AccountsGateway.start();
  });
  afterAll(() => world.stop());

  const organizationsOf = (email: string) =>
    world.gateway.rows<{ name: string; role: string }>(
      `SELECT o.name, m.role FROM user_account u JOIN organization_member m ON m.user_id = u.id
         JOIN organization o ON o.id = m.organization_id JOIN organization_account a ON a.organization_id = o.id
        WHERE u.email = $1 ORDER BY o.name`,
      [email],
    );

  it('creates an account that owns an organization and can sign in once its e-mail is verified', async () => {
    const visitor = world.visitor();
    const email = newEmail();
    const reply = await visitor.post('/register', {
      email,
      password: PASSWORD,
      name: NAME,
      organization_name: 'Engines',
    });
    expect(reply).toMatchObject({ status: 202, json: { object: 'registration', status: 'accepted' } });
    await expect(organizationsOf(email)).resolves.toEqual([]);
    await expect(visitor.login(email)).resolves.toMatchObject({
      status: 403,
      json: { error: { code: 'email_not_verified' } },
    });
    expect(visitor.cookie).toBeUndefined();

    const token = world.tokenTo(email);
    const confirmed = await visitor.post('/email-verifications/confirm', { token });
    expect(confirmed).toMatchObject({ status: 200, json: { object: 'user', email, name: NAME, is_operator: false } });
    await expect(organizationsOf(email)).resolves.toEqual([{ name: 'Engines', role: 'owner' }]);
    await expect(visitor.login(email)).resolves.toMatchObject({ status: 200 });
    const me = await visitor.get('/me');
    expect(me.json.memberships).toEqual([{ organization_id: expect.any(String), name: 'Engines', role: 'owner' }]);
  });

  it('names the organization after the user by default', async () => {
    const { email } = await world.user();
    await expect(organizationsOf(email)).resolves.toEqual([{ name: "Ada's organization", role: 'owner' }]);
  });

  it('accepts a token once under concurrency', async () => {
    const visitor = world.visitor();
    const email = newEmail();
    await visitor.post('/register', { email, password: PASSWORD, name: NAME });
    const token = world.tokenTo(email);
    const confirm = () => visitor.post('/email-verifications/confirm', { token });
    const replies = await Promise.all(Array.from({ length: 8 }, confirm));
    expect(replies.map(({ status }) => status).toSorted()).toEqual([200, 404, 404, 404, 404, 404, 404, 404]);
    await expect(organizationsOf(email)).resolves.toHaveLength(1);
    await expect(confirm()).resolves.toMatchObject({ status: 404, json: { error: { code: 'not_found' } } });
    await expect(visitor.post('/email-verifications/confirm', { token: 'none' })).resolves.toMatchObject({
      status: 404,
    });
  });

  it('refuses a token older than a day', async () => {
    const visitor = world.visitor();
    const email = newEmail();
    await visitor.post('/register', { email, password: PASSWORD, name: NAME });
    const token = world.tokenTo(email);
    world.clock.moveMinutes(24 * 60);
    await expect(visitor.post('/email-verifications/confirm', { token })).resolves.toMatchObject({ status: 404 });
    await visitor.post('/email-verifications', { email });
    const renewed = { token: world.tokenTo(email) };
    await expect(visitor.post('/email-verifications/confirm', renewed)).resolves.toMatchObject({ status: 200 });
  });

  it('returns the same response for a registered e-mail, changes nothing and notifies its owner', async () => {
    const { email } = await world.user();
    const body = { password: 'the password of another person', name: 'Mallory' };
    const known = await world.visitor().post('/register', { ...body, email: email.toUpperCase() });
    const unknown = await world.visitor().post('/register', { ...body, email: newEmail() });
    expect(substanceOf(known)).toEqual(substanceOf(unknown));
    expect(world.mailsTo(email).at(-1)).toMatchObject({ subject: 'You already have an account', token: '' });
    await expect(world.visitor().login(email, body.password)).resolves.toMatchObject({ status: 401 });
    const signedIn = world.visitor();
    await expect(signedIn.login(email.toUpperCase())).resolves.toMatchObject({ status: 200 });
    expect((await signedIn.get('/me')).json).toMatchObject({ email, name: 'Ada' });
  });

  it.each(['before', 'after'])(
    'gives the account only to the mailbox owner when an attacker registers %s the owner',
    async (when) => {
      const [attacker, owner] = [world.visitor(), world.visitor()];
      const email = newEmail();
      const registrations = [
        () => attacker.post('/register', { email, password: 'chosen by the attacker', name: 'Mallory' }),
        () => owner.post('/register', { email, password: PASSWORD, name: NAME, organization_name: 'Mine' }),
      ];
      for (const register of when === 'before' ? registrations : registrations.toReversed()) {
        await expect(register()).resolves.toMatchObject({ status: 202 });
      }
      const tokens = world.mailsTo(email).map(({ token }) => token);
      expect(tokens).toHaveLength(2);
      for (const token of tokens) {
        await expect(owner.post('/email-verifications/confirm', { token })).resolves.toMatchObject({ status: 404 });
      }
      const password = 'chosen by who reads the mails';
      const confirm = (token?: string) => owner.post('/password-resets/confirm', { token, password });
      await expect(confirm(tokens[0])).resolves.toMatchObject({ status: 404 });
      await expect(confirm(tokens[1])).resolves.toMatchObject({ status: 204 });
      await expect(attacker.login(email, 'chosen by the attacker')).resolves.toMatchObject({ status: 401 });
      await expect(owner.login(email, password)).resolves.toMatchObject({ status: 200 });
      await expect(organizationsOf(email)).resolves.toHaveLength(1);
    },
  );

  it('sends a password-choice mail again after repeated registration', async () => {
    const visitor = world.visitor();
    const body = { email: newEmail(), password: PASSWORD, name: NAME };
    await visitor.post('/register', body);
    await visitor.post('/register', body);
    await visitor.post('/email-verifications', { email: body.email });
    const [, second, third] = world.mailsTo(body.email);
    expect(third?.subject).toBe(second?.subject);
    const confirmed = visitor.post('/password-resets/confirm', { token: third?.token, password: PASSWORD });
    await expect(confirmed).resolves.toMatchObject({ status: 204 });
  });

  it('creates one account for concurrent registrations of an e-mail', async () => {
    const email = newEmail();
    const register = (name: string) => world.visitor().post('/register', { email, password: PASSWORD, name });
    const replies = await Promise.all(['A', 'B', 'C', 'D'].map(register));
    expect(replies.map(({ status }) => status)).toEqual([202, 202, 202, 202]);
    const accounts = await world.gateway.rows('SELECT id FROM user_account WHERE email_key = $1', [email]);
    expect(accounts).toHaveLength(1);
  });

  it('verifies the e-mail and joins with an invitation; ignores an invitation of another address', async () => {
    const owner = await world.gateway.dashboardUser();
    const email = newEmail();
    await owner.call(owner.path('/invitations'), { body: { email, role: 'developer' } });
    const invitation = world.tokenTo(email);
    const other = newEmail();
    const attacker = world.visitor();
    const body = { password: PASSWORD, name: NAME, invitation_token: invitation };
    await expect(attacker.post('/register', { ...body, email: other })).resolves.toMatchObject({ status: 202 });
    await expect(attacker.login(other)).resolves.toMatchObject({ status: 403 });

    const invited = world.visitor();
    await expect(invited.post('/register', { ...body, email })).resolves.toMatchObject({ status: 202 });
    await expect(invited.login(email)).resolves.toMatchObject({ status: 200 });
    expect((await invited.get('/me')).json.memberships).toEqual([
      { organization_id: owner.organizationId, name: 'test', role: 'developer' },
    ]);
  });

  it('sends another mail to an unverified account, with the same response for every e-mail', async () => {
    const visitor = world.visitor();
    const email = newEmail();
    await visitor.post('/register', { email, password: PASSWORD, name: NAME });
    const first = world.tokenTo(email);
    const waiting = await visitor.post('/email-verifications', { email });
    const second = world.tokenTo(email);
    expect(second).not.toBe(first);
    await expect(visitor.post('/email-verifications/confirm', { token: first })).resolves.toMatchObject({
      status: 404,
    });
    const unknown = newEmail();
    const answers = [await visitor.post('/email-verifications', { email: unknown })];
    await visitor.post('/email-verifications/confirm', { token: second });
    answers.push(await visitor.post('/email-verifications', { email }));
    for (const answer of answers) expect(substanceOf(answer)).toEqual(substanceOf(waiting));
    expect(world.mailsTo(unknown)).toEqual([]);
    expect(world.tokenTo(email)).toBe(second);
  });

  it('is not blocked by mail requests of attackers', async () => {
    const email = newEmail();
    for (let request = 0; request < 15; request++) {
      await world.visitor().post('/email-verifications', { email });
      await world.visitor().post('/password-resets', { email });
    }
    const visitor = world.visitor();
    await visitor.post('/register', { email, password: PASSWORD, name: NAME });
    const token = world.tokenTo(email);
    await expect(visitor.post('/email-verifications/confirm', { token })).resolves.toMatchObject({ status: 200 });
  });

  it('changes nothing beyond ten mails an hour, and the newest token stays valid', async () => {
    const email = newEmail();
    const register = () => world.visitor().post('/register', { email, password: PASSWORD, name: NAME });
    for (let request = 0; request < 12; request++) await expect(register()).resolves.toMatchObject({ status: 202 });
    const mails = world.mailsTo(email);
    expect(mails).toHaveLength(10);
    const password = 'chosen by who reads the mails';
    const confirmed = world.visitor().post('/password-resets/confirm', { token: mails.at(-1)?.token, password });
    await expect(confirmed).resolves.toMatchObject({ status: 204 });
  });

  it('is limited per network together with mail requests', async () => {
    const limited = await AccountsGateway.start({ SIGN_IN_ATTEMPTS_PER_ADDRESS: '8' });
    const visitor = limited.visitor();
    const ask = () => visitor.post('/email-verifications', { email: newEmail() });
    const replies = await Promise.all(Array.from({ length: 10 }, ask));
    expect(replies.map(({ status }) => status).toSorted()).toEqual([...Array.from({ length: 8 }, () => 202), 429, 429]);
    const refused = await ask();
    expect(refused.json.error.code).toBe('rate_limited');
    expect(refused.json.error.retry_after).toBeGreaterThan(3_500);
    limited.clock.moveMinutes(60);
    await expect(ask()).resolves.toMatchObject({ status: 202 });
    await limited.stop();
  });

  it.each([
    ['email', { email: 'a@b@example.com' }],
    ['email', { email: 'ada@example.com,mallory@example.com' }],
    ['email', { email: 'ada@example.com\nBcc: mallory@example.com' }],
    ['email', { email: `${'a'.repeat(65)}@example.com` }],
    ['email', { email: 7 }],
    ['password', { password: 'short' }],
    ['password', { password: 'password123' }],
    ['password', { password: 'a nul \0 in it' }],
    ['password', { password: 'x'.repeat(129) }],
    ['name', { name: '   ' }],
    ['name', { name: 'a\u0007bell' }],
    ['name', { name: 'half \ud800' }],
    ['name', { name: 'line\u2028line' }],
    ['name', { name: '\u202enimda' }],
    ['name', { name: 'Ada www.evil.example' }],
    ['organization_name', { organization_name: '\u0000' }],
    ['organization_name', { organization_name: 'Free credit: https://evil.example' }],
    ['organization_name', { organization_name: 'Sign in at evil.example/login' }],
    ['password', { password: 'zzzzzzzzzz' }],
    ['invitation_token', { invitation_token: {} }],
    ['is_operator', { is_operator: true }],
  ])('refuses an invalid or unknown %s and names it: %j', async (param, change) => {
    const body = { email: newEmail(), password: PASSWORD, name: NAME, ...change };
    const reply = await world.visitor().post('/register', body);
    expect(reply).toMatchObject({ status: 400, json: { error: { code: 'validation_failed', param } } });
  });
});

describe('without a mail server', () => {
  let world: AccountsGateway;

  beforeAll(async () => {
    world = await AccountsGateway.start({
      NODE_ENV: 'production',
      SECRETS_KEY: 'ab'.repeat(32),
      PUBLIC_BASE_URL: 'https://gateway.example.com',
    });
  });
  afterAll(() => world.stop());

  it.each([
    ['/register', { email: 'ada@example.com', password: PASSWORD, name: NAME }],
    ['/email-verifications', { email: 'ada@example.com' }],
    ['/password-resets', { email: 'ada@example.com' }],
  ])('returns not_configured: %s', async (path, body) => {
    const reply = await world.visitor().post(path, body);
    expect(reply).toMatchObject({ status: 501, json: { error: { code: 'not_configured' } } });
    await expect(world.gateway.rows('SELECT id FROM user_account')).resolves.toEqual([]);
  });

  it('tells visitors that they cannot register', async () => {
    const { json } = await world.gateway.call('/dashboard/api/about');
    expect(json).toMatchObject({ mail: { destination: 'none', folder: null }, registration: false });
  });
});
