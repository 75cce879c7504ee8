import { StripeServer } from '../../../harness/stripe-server';
import { AccountsGateway, newEmail, PASSWORD } from '../accounts/visitor';

/** URLs of our pages in a mail or a redirect. */
const LINK = /https?:\/\/\S+/;

describe('links in mails and payment return URLs', () => {
  let stripe: StripeServer;
  let world: AccountsGateway;

  beforeAll(async () => {
    stripe = await StripeServer.start();
    world = await AccountsGateway.start(stripe.environment);
  });
  afterAll(async () => {
    await world.stop();
    await stripe.stop();
  });

  /** From the newest mail. */
  const linkTo = (email: string): URL => new URL(LINK.exec(world.mailsTo(email).at(-1)?.text ?? '')?.[0] ?? '');
  const open = ({ pathname, search }: URL) => world.gateway.call(`${pathname}${search}`);

  const links: Record<string, () => Promise<URL>> = {
    'verify-email': async () => {
      const email = newEmail();
      await world.visitor().post('/register', { email, password: PASSWORD, name: 'Ada' });
      return linkTo(email);
    },
    'reset-password': async () => {
      const { email, visitor } = await world.user();
      await visitor.post('/password-resets', { email });
      return linkTo(email);
    },
    'accept-invitation': async () => {
      const [owner, email] = [await world.gateway.dashboardUser(), newEmail()];
      await owner.call(owner.path('/invitations'), { body: { email, role: 'viewer' } });
      return linkTo(email);
    },
    'billing, paid': async () => new URL('/dashboard/billing?outcome=paid', world.gateway.url),
    'billing, canceled': async () => new URL('/dashboard/billing?outcome=canceled', world.gateway.url),
  };

  it.each([
    ['verify-email', 'Confirm your e-mail address', ['email-verifications/confirm:token', 'email-verifications:email']],
    ['reset-password', 'Set a new password', ['password-resets/confirm:token,password', 'password-resets:email']],
    [
      'accept-invitation',
      'Accept your invitation',
      ['login:email,password invitations/accept:token', 'register:name,email,password,invitation_token'],
    ],
    ['billing, paid', 'Thank you', []],
    ['billing, canceled', 'Payment canceled', []],
  ])('lead to a separate page: %s', async (name, heading, calls) => {
    const link = (await links[name]?.()) as URL;
    const { status, headers, text } = await open(link);
    expect(status).toBe(200);
    expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(text).toContain(`<h1>${heading}</h1>`);
    expect([...text.matchAll(/data-calls="([^"]*)"/g)].map(([, call]) => call)).toEqual(calls);
    const forms = [...text.matchAll(/<form [^>]*>/g)].map(([tag]) => tag);
    // A form without the script must not put a token or a password into a URL.
    for (const tag of forms) expect(tag).toContain('method="post"');
  });

  it('lead to pages without inline scripts, framing, caching or referrer', async () => {
    const { headers, text } = await world.gateway.call('/dashboard/reset-password');
    const policy = headers.get('content-security-policy');
    expect(policy?.split('; ')).toEqual(
      expect.arrayContaining([
        "default-src 'none'",
        "script-src 'self'",
        "form-action 'none'",
        "frame-ancestors 'none'",
      ]),
    );
    expect(policy).not.toContain('unsafe');
    expect(Object.fromEntries(headers)).toMatchObject({
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'cross-origin-opener-policy': 'same-origin',
    });
    expect(text).not.toMatch(/<style|style="|<script(?! src=)|\son\w+=/);
  });

  it('lead to pages whose assets exist; other pages return 404', async () => {
    const { text } = await world.gateway.call('/dashboard/verify-email');
    const files = [...text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, file]) => `/dashboard/${file}`);
    const replies = await Promise.all(files.map((file) => world.gateway.call(file)));
    expect(replies.map(({ status, headers }) => [status, headers.get('content-type')])).toEqual([
      [200, 'text/css; charset=utf-8'],
      [200, 'text/javascript; charset=utf-8'],
    ]);
    for (const unknown of ['/dashboard/assets/pages.controller.js', '/dashboard/no-such-page']) {
      expect(await world.gateway.call(unknown)).toMatchObject({ status: 404, json: { error: { code: 'not_found' } } });
    }
  });
});
