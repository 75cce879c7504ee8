/**
 * A Chromium for journeys through the pages. Every journey fails on what no page may ever do
 * (`BrowserUser.complaints`).
 */
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  chromium,
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  type Page,
  type Response,
} from 'playwright-core';
import { findChromium, NO_CHROMIUM } from './chromium';
import type { DashboardClient } from './dashboard-client';
import type { TestGateway } from './gateway';
import { PageSecrets } from './page-secrets';

/** Only for what never happens: a slow machine must not fail a journey. */
const TIMEOUT_MS = 90_000;
const KEEP_TIMEOUT_MS = 10_000;

/** `describe` for journeys: skipped without a Chromium. With `REQUIRE_BROWSER=1`, `web-setup.ts` ends such a run. */
export function describeJourney(name: string, journeys: () => void): void {
  if (findChromium() === null) describe.skip(`${name}: ${NO_CHROMIUM}`, journeys);
  else describe(name, journeys);
}

let running: Promise<Browser> | undefined;

/** One browser per test file. */
function launchBrowser(): Promise<Browser> {
  const executablePath = findChromium();
  if (executablePath === null) throw new Error(`There is ${NO_CHROMIUM}`);
  // Chromium has no sandbox for the superuser.
  const args = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
  running ??= chromium.launch({ executablePath, args });
  return running;
}

const visiting = new Set<BrowserUser>();

/**
 * Keeps picture, document and trace of every open visit without secrets, prints its complaints, and ends the visits.
 * `shared-environment.js` calls it when a test fails.
 */
async function keepPages(): Promise<void> {
  const users = [...visiting];
  if (users.length === 0) return;
  visiting.clear();
  // The folder for temporary files may end with the run.
  const folder = mkdtempSync(join(process.env.TEST_KEPT_PAGES ?? tmpdir(), 'gateway-journey-'));
  const complaints: string[] = [];
  for (const [index, user] of users.entries()) complaints.push(...(await user.keep(join(folder, `user-${index + 1}`))));
  const kept = `The pages of the failed journey are kept in ${folder}\n`;
  process.stdout.write(complaints.length === 0 ? kept : `${kept}${complaintsOf(complaints)}\n`);
}
Object.assign(globalThis, { [Symbol.for('gateway.keepPages')]: keepPages });

export async function closeBrowser(): Promise<void> {
  await (await running)?.close();
  running = undefined;
}

/** A visitor with a browser of their own: cookies, storage, clipboard. */
export class BrowserUser {
  /** What no page may do: violations of the policy, errors in the console, failed replies, other hosts. */
  readonly complaints: string[] = [];
  private readonly announced: RegExp[] = [];
  private readonly secrets = new PageSecrets();
  /** What the pages wrote to the console, asked and got, each with the milliseconds since the visit began. */
  private readonly trace: string[] = [];
  private readonly openedAtMs = performance.now();

  private constructor(
    readonly context: BrowserContext,
    readonly page: Page,
    private readonly origin: string,
  ) {}

  static async open(gateway: TestGateway, options: BrowserContextOptions = {}): Promise<BrowserUser> {
    const browser = await launchBrowser();
    const context = await browser.newContext({
      baseURL: gateway.url,
      viewport: { width: 1280, height: 800 },
      reducedMotion: 'reduce',
      permissions: ['clipboard-read', 'clipboard-write'],
      ...options,
    });
    context.setDefaultTimeout(TIMEOUT_MS);
    const user = new BrowserUser(context, await context.newPage(), gateway.url);
    visiting.add(user);
    context.on('page', (page) => user.watch(page));
    user.watch(user.page);
    return user;
  }

  /** With the session of a user of the dashboard. */
  static async signedIn(
    gateway: TestGateway,
    { cookie }: DashboardClient,
    options: BrowserContextOptions = {},
  ): Promise<BrowserUser> {
    const { hostname, origin } = new URL(gateway.url);
    const session = {
      name: 'sid',
      value: cookie.slice('sid='.length),
      domain: hostname,
      path: '/',
      expires: -1,
      httpOnly: true,
      secure: false,
      sameSite: 'Lax' as const,
    };
    const localStorage = [{ name: 'dashboard', value: JSON.stringify({ signedIn: true }) }];
    const user = await BrowserUser.open(gateway, {
      storageState: { cookies: [session], origins: [{ origin, localStorage }] },
      ...options,
    });
    user.secrets.learn(session.value);
    return user;
  }

  /**
   * Announces what the test provokes: failed replies by method and path, for example `/^POST .*\/login 401$/`, and
   * errors that the browser writes to the console about them.
   */
  expectFailure(line: RegExp): void {
    this.announced.push(line);
  }

  /** Keeps a picture in the folder `WEB_PICTURES`, when it is set. */
  async picture(name: string): Promise<void> {
    const folder = process.env.WEB_PICTURES;
    if (folder === undefined) return;
    mkdirSync(folder, { recursive: true });
    await this.page.screenshot({ path: join(folder, `${name}.png`), fullPage: true });
  }

  /** Ends the visit. @throws Error with everything that a page did wrong. */
  async close(): Promise<void> {
    await this.findSecrets();
    visiting.delete(this);
    await this.context.close();
    if (this.complaints.length > 0) throw new Error(complaintsOf(this.complaints));
  }

  /**
   * Ends the visit and keeps what it shows and its trace, without secrets.
   * @param path the names of the files begin with it
   * @returns the complaints
   */
  async keep(path: string): Promise<readonly string[]> {
    for (const [index, page] of this.context.pages().entries()) {
      const file = `${path}-page-${index + 1}`;
      await this.secrets.hideIn(page).then(
        () => page.screenshot({ path: `${file}.png`, timeout: KEEP_TIMEOUT_MS }).catch(() => undefined),
        () => undefined,
      );
      const html = await page.content().catch((error: unknown) => String(error));
      writeFileSync(`${file}.html`, this.secrets.redact(`<!-- ${page.url()} -->\n${html}`));
    }
    writeFileSync(`${path}-trace.txt`, this.secrets.redact(`${this.trace.join('\n')}\n`));
    await this.context.close().catch(() => undefined);
    return this.complaints.map((line) => this.secrets.redact(line));
  }

  /** Complains of secrets in the open pages, and in what all pages wrote to the console and asked for. */
  private async findSecrets(): Promise<void> {
    for (const page of this.context.pages()) {
      const url = page.url();
      if (new URL(url).origin !== this.origin) continue;
      for (const place of await this.secrets.placesIn(page)) {
        this.complaints.push(`a secret is in the ${place} of ${this.secrets.redact(url)}`);
      }
      if (this.secrets.isIn(url)) this.complaints.push(`a secret is in the address ${this.secrets.redact(url)}`);
    }
    for (const line of this.trace) {
      if (this.secrets.isIn(line)) this.complaints.push(`a secret is in the trace: ${this.secrets.redact(line)}`);
    }
  }

  private watch(page: Page): void {
    page.on('pageerror', (error) => {
      this.note(`uncaught: ${error.message}`);
      this.complaints.push(`uncaught: ${error.message}`);
    });
    page.on('console', (message) => {
      const text = message.text();
      this.note(`console ${message.type()}: ${text}`);
      // Chromium logs every failed reply; `response` below judges those.
      if (message.type() === 'error' && !text.startsWith('Failed to load resource')) this.complain(text);
    });
    // Printed links and those of mails have a secret behind the `#`, which no server gets and the page removes.
    page.on('framenavigated', (frame) => this.note(`at ${withoutFragment(frame.url())}`));
    page.on('request', (request) => {
      const url = request.url();
      this.note(`${request.method()} ${withoutFragment(url)}`);
      this.secrets.learnFromRequest(request);
      if (!/^(?:blob|data):/.test(url) && new URL(url).origin !== this.origin) this.complaints.push(`asked ${url}`);
    });
    page.on('requestfailed', (request) => {
      this.note(`${request.method()} ${withoutFragment(request.url())} failed: ${request.failure()?.errorText}`);
    });
    page.on('response', (response) => this.judge(response));
  }

  private judge(response: Response): void {
    const method = response.request().method();
    const status = response.status();
    this.note(`${method} ${withoutFragment(response.url())} ${status}`);
    this.secrets.learnFromResponse(response);
    if (status < 400) return;
    // On a busy machine the database is late: pages repeat such a read by themselves, but never a write.
    const isRead = method === 'GET' || method === 'HEAD';
    if (isRead && status === 503 && response.headers()['x-should-retry'] === 'true') return;
    this.complain(`${method} ${new URL(response.url()).pathname} ${status}`);
  }

  private note(line: string): void {
    this.trace.push(`${Math.round(performance.now() - this.openedAtMs)} ms ${line}`);
  }

  private complain(line: string): void {
    if (!this.announced.some((pattern) => pattern.test(line))) this.complaints.push(line);
  }
}

function complaintsOf(lines: readonly string[]): string {
  return `The pages did what none may:\n${lines.join('\n')}`;
}

function withoutFragment(url: string): string {
  return url.split('#', 1)[0] ?? '';
}
