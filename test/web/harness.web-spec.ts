import { randomUUID } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { clippedContent } from '../harness/accessibility';
import { BrowserUser, closeBrowser, describeJourney } from '../harness/browser';
import { TestGateway } from '../harness/gateway';

/** Has the shape of an API key, but is the key of no account. */
const KEY = `sk-llm-${'0aB'.repeat(13).slice(1)}`;
const PASSWORD = 'a password & more of this test';

describeJourney('a visit of the harness', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await TestGateway.start();
  });
  afterAll(async () => {
    await closeBrowser();
    await gateway.stop();
  });

  /** A visitor at `/login` whose password was refused. */
  async function refused(): Promise<BrowserUser> {
    const user = await BrowserUser.open(gateway);
    user.expectFailure(/^POST .*\/login 401$/);
    await user.page.goto('/dashboard/login');
    await user.page.getByLabel('E-mail').fill(`${randomUUID()}@example.com`);
    await user.page.getByLabel('Password').fill(PASSWORD);
    await user.page.getByRole('button', { name: 'Sign in' }).click();
    await user.page.getByText('The e-mail or the password is wrong.').waitFor();
    return user;
  }

  it.each([
    ['text', 'document.body.append(secret)', 'in the document'],
    ['a field', "document.querySelector('input[type=email]').value = secret", 'in the document'],
    ['localStorage', "localStorage.setItem('kept', secret)", 'in the localStorage'],
    ['sessionStorage', "sessionStorage.setItem('kept', secret)", 'in the sessionStorage'],
    ['the history', "history.replaceState({ secret }, '')", 'in the history'],
    ['the console', 'console.log(secret)', 'in the trace'],
    ['a request', "fetch('/dashboard?' + new URLSearchParams({ secret }))", 'in the trace'],
    ['the address', "history.replaceState({}, '', '#' + encodeURIComponent(secret))", 'in the address'],
  ])('fails with a key or a password in %s, and does not repeat it', async (_name, leak, place) => {
    for (const secret of [KEY, PASSWORD]) {
      const user = await refused();
      await user.page.evaluate(`(async (secret) => { ${leak} })(${JSON.stringify(secret)})`);
      const failure = await user.close().then(String, String);
      expect(failure).toContain(`a secret is ${place}`);
      expect(failure).not.toContain(secret);
    }
  });

  it('fails with the token of its session in the page', async () => {
    const member = await gateway.dashboardUser();
    const user = await BrowserUser.signedIn(gateway, member);
    await user.page.goto('/dashboard/account');
    await user.page.getByRole('heading', { level: 1 }).waitFor();
    await user.page.evaluate(`document.body.append(${JSON.stringify(member.cookie)})`);
    await expect(user.close()).rejects.toThrow('a secret is in the document');
  });

  it('accepts a typed password, and a key in the dialog that shows it once', async () => {
    const user = await refused();
    await user.page.evaluate(`(() => {
      const dialog = document.createElement('dialog');
      const shown = document.createElement('code');
      shown.dataset.secret = '';
      dialog.append(shown, 'curl -H ' + ${JSON.stringify(KEY)});
      document.body.append(dialog);
    })()`);
    expect(await user.page.getByLabel('Password').inputValue()).toBe(PASSWORD);
    await user.close();
  });

  it('forgives a read that the page repeats, and no write', async () => {
    const user = await BrowserUser.open(gateway);
    await user.page.goto('/dashboard/login');
    await user.page.getByRole('button', { name: 'Sign in' }).waitFor();
    await user.page.route('**/late', (route) => route.fulfill({ status: 503, headers: { 'x-should-retry': 'true' } }));
    for (const method of ['GET', 'POST']) await user.page.evaluate(`fetch('/late', { method: '${method}' })`);
    const failure = await user.close().then(String, String);
    expect(failure.split('\n').slice(1)).toEqual(['POST /late 503']);
  });

  it.each([
    ['beyond the edge', 'position: absolute; left: 300px; width: 200px; top: 0', ''],
    ['cut off', 'width: 200px', 'width: 40px; overflow: hidden'],
    ['cut off', 'height: 80px', 'height: 20px; overflow: clip'],
  ])('finds content that is %s (%s)', async (problem, style, frame) => {
    const user = await BrowserUser.open(gateway, { viewport: { width: 320, height: 640 } });
    await user.page.goto('/dashboard/login');
    await user.page.getByRole('button', { name: 'Sign in' }).waitFor();
    expect(await clippedContent(user.page)).toEqual([]);
    await user.page.evaluate(`(() => {
      const [frame, content] = [document.createElement('div'), document.createElement('p')];
      frame.style.cssText = '${frame}';
      content.style.cssText = '${style}';
      content.textContent = 'Planted';
      frame.append(content);
      (document.querySelector('main') ?? document.body).append(frame);
    })()`);
    expect(await clippedContent(user.page)).toEqual([expect.stringMatching(`^${problem}: <p .*Planted`)]);
    await user.close();
  });

  it('keeps document, picture and trace of a failed journey without secrets', async () => {
    const user = await refused();
    await user.page.evaluate(`document.body.append(${JSON.stringify(`${KEY} ${PASSWORD}`)}); console.error('broken')`);
    const folder = mkdtempSync(join(tmpdir(), 'gateway-kept-'));
    expect(await user.keep(join(folder, 'user-1'))).toEqual(['broken']);
    expect(readdirSync(folder).toSorted()).toEqual(['user-1-page-1.html', 'user-1-page-1.png', 'user-1-trace.txt']);
    const [html, trace] = ['page-1.html', 'trace.txt'].map((name) =>
      readFileSync(join(folder, `user-1-${name}`), 'utf8'),
    );
    rmSync(folder, { recursive: true });
    expect(html).toContain('[secret] [secret]');
    expect(trace).toMatch(/^\d+ ms POST http:\/\/127\.0\.0\.1:\d+\/dashboard\/api\/login 401$/m);
    expect(trace).toMatch(/^\d+ ms console error: broken$/m);
    expect(`${html}${trace}`).not.toContain(KEY);
    expect(`${html}${trace}`).not.toContain('a password');
  });
});
