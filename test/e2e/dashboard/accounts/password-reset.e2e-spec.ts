import { AccountsGateway, newEmail, PASSWORD, substanceOf } from './visitor';

const NEXT = 'another password of these tests';

describe('password reset', () => {
  let world: AccountsGateway;

  beforeAll(async () => {
    world = await AccountsGateway.start({ SIGN_IN_ATTEMPTS_PER_ADDRESS: '30' });
  });
  afterAll(() => world.stop());

  it('sets the password, ends every session, resets login limits and notifies the owner', async () => {
    const { email, visitor } = await world.signedIn();
    const owner = world.visitor();
    // From the network of the owner: ten for this account, the rest for others, up to the network limit.
    const guesses = Array.from({ length: 31 }, (_, index) => (index < 11 ? email : newEmail()));
    for (const guessed of guesses) await owner.login(guessed, 'not the password');
    await expect(owner.login(newEmail(), 'not the password')).resolves.toMatchObject({ status: 429 });
    await expect(owner.login(email)).resolves.toMatchObject({ status: 429 });

    await owner.post('/password-resets', { email });
    const token = world.tokenTo(email);
    const reply = await owner.post('/password-resets/confirm', { token, password: NEXT });
    expect(reply.status).toBe(204);
    expect(await visitor.status()).toBe(401);
    await expect(owner.login(email, NEXT)).resolves.toMatchObject({ status: 200 });
    await expect(owner.login(email, PASSWORD)).resolves.toMatchObject({ status: 401 });
    expect(world.mailsTo(email).at(-1)).toMatchObject({ subject: 'Your password was changed', token: '' });
  });

  it('accepts a token once, within an hour, and only the newest', async () => {
    const { email, visitor } = await world.user();
    const confirm = (token: string) => visitor.post('/password-resets/confirm', { token, password: NEXT });
    await visitor.post('/password-resets', { email });
    const first = world.tokenTo(email);
    await visitor.post('/password-resets', { email });
    const second = world.tokenTo(email);
    await expect(confirm(first)).resolves.toMatchObject({ status: 404 });
    const replies = await Promise.all([1, 2, 3, 4].map(() => confirm(second)));
    expect(replies.map(({ status }) => status).toSorted()).toEqual([204, 404, 404, 404]);
    await visitor.post('/password-resets', { email });
    world.clock.moveMinutes(60);
    await expect(confirm(world.tokenTo(email))).resolves.toMatchObject({ status: 404 });
  });

  it('does not accept a verification token, nor verification a reset token', async () => {
    const visitor = world.visitor();
    const email = newEmail();
    await visitor.post('/register', { email, password: PASSWORD, name: 'Ada' });
    const verification = { token: world.tokenTo(email), password: NEXT };
    await expect(visitor.post('/password-resets/confirm', verification)).resolves.toMatchObject({ status: 404 });
    await visitor.post('/password-resets', { email });
    const reset = { token: world.tokenTo(email) };
    await expect(visitor.post('/email-verifications/confirm', reset)).resolves.toMatchObject({ status: 404 });
  });

  it('verifies the e-mail and creates the organization', async () => {
    const visitor = world.visitor();
    const email = newEmail();
    await visitor.post('/register', { email, password: 'chosen by another person', name: 'Ada' });
    const verification = { token: world.tokenTo(email) };
    await visitor.post('/password-resets', { email });
    await visitor.post('/password-resets/confirm', { token: world.tokenTo(email), password: NEXT });
    await expect(visitor.login(email, NEXT)).resolves.toMatchObject({ status: 200 });
    expect((await visitor.get('/me')).json.memberships).toMatchObject([{ name: "Ada's organization", role: 'owner' }]);
    await expect(visitor.post('/email-verifications/confirm', verification)).resolves.toMatchObject({ status: 404 });
  });

  it('returns the same response for an unknown e-mail and sends nothing', async () => {
    const { email } = await world.user();
    const unknown = newEmail();
    const replies = [
      await world.visitor().post('/password-resets', { email }),
      await world.visitor().post('/password-resets', { email: unknown }),
    ];
    expect(substanceOf(replies[0] as never)).toEqual(substanceOf(replies[1] as never));
    expect(world.mailsTo(unknown)).toEqual([]);
  });

  it('accepts every request, but sends five mails an hour per network and ten in all', async () => {
    const { email, visitor: owner } = await world.user();
    const unknown = newEmail();
    const resets = () => world.mailsTo(email).filter(({ subject }) => subject === 'Reset your password');
    const visitors = [world.visitor(), world.visitor(), world.visitor()] as const;
    for (const [index, sent] of [5, 10, 10].entries()) {
      for (let request = 0; request < 7; request++) {
        const known = await visitors[index]?.post('/password-resets', { email });
        const other = await visitors[index]?.post('/password-resets', { email: unknown });
        expect(substanceOf(known as never)).toEqual(substanceOf(other as never));
        expect(known?.status).toBe(202);
      }
      expect(resets()).toHaveLength(sent);
      if (index > 0) continue;
      // An attacker on another network has not used up the owner's limit or other purposes.
      await owner.post('/register', { email, password: NEXT, name: 'Ada' });
      expect(world.mailsTo(email).at(-1)?.subject).toBe('You already have an account');
    }
    // The newest token still works, and then resets the limit.
    const confirmed = await owner.post('/password-resets/confirm', { token: resets().at(-1)?.token, password: NEXT });
    expect(confirmed.status).toBe(204);
    await owner.post('/password-resets', { email });
    expect(resets()).toHaveLength(11);
  });

  it.each([
    ['/password-resets', {}],
    ['/email-verifications', {}],
    ['/register', { password: NEXT, name: 'Ada' }],
  ])('responds to %s before it changes the account, so that timing reveals nothing', async (path, body) => {
    const { email } = await world.user();
    const holder = await world.gateway.pool.connect();
    await holder.query('BEGIN');
    await holder.query('SELECT FROM user_account WHERE email = $1 FOR UPDATE', [email]);
    try {
      const request = { body: { email, ...body }, headers: { 'x-requested-with': 'test' } };
      const signal = AbortSignal.timeout(30_000);
      const reply = await world.gateway.call(`/dashboard/api${path}`, { ...request, signal });
      expect(reply.status).toBe(202);
    } finally {
      await holder.query('COMMIT');
      holder.release();
    }
  });

  it('sends no mail to a disabled account, whose tokens are invalid', async () => {
    const { email, visitor } = await world.user();
    await visitor.post('/password-resets', { email });
    const token = world.tokenTo(email);
    await world.gateway.rows(`UPDATE user_account SET status = 'disabled' WHERE email = $1`, [email]);
    const mails = world.mailsTo(email).length;
    await visitor.post('/password-resets', { email });
    await visitor.post('/email-verifications', { email });
    expect(world.mailsTo(email)).toHaveLength(mails);
    await expect(visitor.post('/password-resets/confirm', { token, password: NEXT })).resolves.toMatchObject({
      status: 404,
    });
  });

  it('keeps the token valid when the new password is refused', async () => {
    const { email, visitor } = await world.user();
    await visitor.post('/password-resets', { email });
    const token = world.tokenTo(email);
    const weak = await visitor.post('/password-resets/confirm', { token, password: 'iloveyou' });
    expect(weak).toMatchObject({ status: 400, json: { error: { param: 'password' } } });
    await expect(visitor.post('/password-resets/confirm', { token, password: NEXT })).resolves.toMatchObject({
      status: 204,
    });
  });

  it('stores neither passwords nor tokens in clear text', async () => {
    const { email, visitor } = await world.user();
    await visitor.post('/password-resets', { email });
    const token = world.tokenTo(email);
    const rows = await world.gateway.rows<{ row: string }>(
      `SELECT t::text AS row FROM user_token t UNION ALL SELECT u::text FROM user_account u
        UNION ALL SELECT a::text FROM audit_entry a`,
    );
    const everything = rows.map(({ row }) => row).join('\n');
    expect(everything).toContain(email);
    expect(everything).not.toContain(PASSWORD);
    expect(everything).not.toContain(token);
    expect(everything).not.toContain(Buffer.from(token).toString('hex'));
  });
});
