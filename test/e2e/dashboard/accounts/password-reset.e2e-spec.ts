import { AccountsGateway, newEmail, PASSWORD, substanceOf } from './visitor';

const NEXT = 'another password of these tests';

describe('resetting a password', () => {
  let world: AccountsGateway;

  beforeAll(async () => {
    world = await AccountsGateway.start();
  });
  afterAll(() => world.stop());

  it('sets the password, ends every session and the lock that guesses have put on, and tells the owner', async () => {
    const { email, visitor } = await world.signedIn();
    const guesser = world.visitor();
    for (let guess = 0; guess < 10; guess++) await guesser.login(email, 'not the password');
    await expect(world.visitor().login(email)).resolves.toMatchObject({ status: 429 });

    const owner = world.visitor();
    await owner.post('/password-resets', { email });
    const token = world.tokenTo(email);
    const reply = await owner.post('/password-resets/confirm', { token, password: NEXT });
    expect(reply.status).toBe(204);
    expect(await visitor.status()).toBe(401);
    await expect(owner.login(email, NEXT)).resolves.toMatchObject({ status: 200 });
    await expect(owner.login(email, PASSWORD)).resolves.toMatchObject({ status: 401 });
    expect(world.mailsTo(email).at(-1)).toMatchObject({ subject: 'Your password was changed', token: '' });
  });

  it('takes a token once, for an hour, and of two only the newer one', async () => {
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

  it('does not take the token that verifies an e-mail, nor the other way round', async () => {
    const visitor = world.visitor();
    const email = newEmail();
    await visitor.post('/register', { email, password: PASSWORD, name: 'Ada' });
    const verification = { token: world.tokenTo(email), password: NEXT };
    await expect(visitor.post('/password-resets/confirm', verification)).resolves.toMatchObject({ status: 404 });
    await visitor.post('/password-resets', { email });
    const reset = { token: world.tokenTo(email) };
    await expect(visitor.post('/email-verifications/confirm', reset)).resolves.toMatchObject({ status: 404 });
  });

  it('verifies the e-mail, which the token has come to, and makes the organization', async () => {
    const visitor = world.visitor();
    const email = newEmail();
    await visitor.post('/register', { email, password: 'chosen by somebody else', name: 'Ada' });
    const verification = { token: world.tokenTo(email) };
    await visitor.post('/password-resets', { email });
    await visitor.post('/password-resets/confirm', { token: world.tokenTo(email), password: NEXT });
    await expect(visitor.login(email, NEXT)).resolves.toMatchObject({ status: 200 });
    expect((await visitor.get('/me')).json.memberships).toMatchObject([{ name: "Ada's organization", role: 'owner' }]);
    await expect(visitor.post('/email-verifications/confirm', verification)).resolves.toMatchObject({ status: 404 });
  });

  it('says the same of an unknown e-mail, and sends nothing', async () => {
    const { email } = await world.user();
    const unknown = newEmail();
    const replies = [
      await world.visitor().post('/password-resets', { email }),
      await world.visitor().post('/password-resets', { email: unknown }),
    ];
    expect(substanceOf(replies[0] as never)).toEqual(substanceOf(replies[1] as never));
    expect(world.mailsTo(unknown)).toEqual([]);
  });

  it('is not for a disabled account: it gets no mail, and what it had is worth nothing', async () => {
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

  it('keeps the token when the new password is refused', async () => {
    const { email, visitor } = await world.user();
    await visitor.post('/password-resets', { email });
    const token = world.tokenTo(email);
    const weak = await visitor.post('/password-resets/confirm', { token, password: 'iloveyou' });
    expect(weak).toMatchObject({ status: 400, json: { error: { param: 'password' } } });
    await expect(visitor.post('/password-resets/confirm', { token, password: NEXT })).resolves.toMatchObject({
      status: 204,
    });
  });

  it('leaves neither passwords nor tokens in the database', async () => {
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
