/** A Chromium for journeys through the pages. Every journey fails on what no page may ever do (`BrowserUser.complaints`). */
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium, type Browser, type BrowserContext, type BrowserContextOptions, type Page } from 'playwright-core';
import { findChromium, NO_CHROMIUM } from './chromium';
import type { DashboardClient } from './dashboard-client';
import type { TestGateway } from './gateway';

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

/** Keeps picture and document of every open page, and ends the visits. `shared-environment.js` calls it when a test fails. */
async function keepPages(): Promise<void> {
  const users = [...visiting];
  if (users.length === 0) return;
  visiting.clear();
  const folder = mkdtempSync(join(tmpdir(), 'gateway-journey-'));
  const pages = users.flatMap(({ context }) => context.pages());
  for (const [index, page] of pages.entries()) {
    const file = join(folder, `page-${index + 1}`);
    await page.screenshot({ path: `${file}.png`, timeout: KEEP_TIMEOUT_MS }).catch(() => undefined);
    const html = await page.content().catch((error: unknown) => String(error));
    writeFileSync(`${file}.html`, `<!-- ${page.url()} -->\n${html}`);
  }
  for (const { context } of users) await context.close().catch(() => undefined);
  process.stdout.write(`The pages of the failed journey are kept in ${folder}\n`);
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
  static signedIn(
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
    return BrowserUser.open(gateway, {
      storageState: { cookies: [session], origins: [{ origin, localStorage }] },
      ...options,
    });
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
    visiting.delete(this);
    await this.context.close();
    if (this.complaints.length > 0) throw new Error(`The pages did what none may:\n${this.complaints.join('\n')}`);
  }

  private watch(page: Page): void {
    page.on('pageerror', (error) => this.complaints.push(`uncaught: ${error.message}`));
    page.on('console', (message) => {
      const text = message.text();
      // Chromium logs every failed reply; `response` below judges those.
      if (message.type() === 'error' && !text.startsWith('Failed to load resource')) this.complain(text);
    });
    page.on('request', (request) => {
      const url = request.url();
      if (!/^(?:blob|data):/.test(url) && new URL(url).origin !== this.origin) this.complaints.push(`asked ${url}`);
    });
    page.on('response', (response) => {
      if (response.status() < 400) return;
      // On a busy machine the database is late: pages repeat such a read by themselves.
      if (response.status() === 503 && response.headers()['x-should-retry'] === 'true') return;
      const { pathname } = new URL(response.url());
      const line = `${response.request().method()} ${pathname} ${response.status()}`;
      this.complain(line);
    });
  }

  private complain(line: string): void {
    if (!this.announced.some((pattern) => pattern.test(line))) this.complaints.push(line);
  }
}
