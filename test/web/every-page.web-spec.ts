import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { JobGateway } from '../e2e/create-video/job-gateway';
import {
  accessibilityProblems,
  clippedContent,
  COLOR_RULES,
  fitsItsWidth,
  tablesThatScroll,
  unreachableByKeyboard,
} from '../harness/accessibility';
import { BrowserUser, closeBrowser, describeJourney } from '../harness/browser';
import type { DashboardClient } from '../harness/dashboard-client';
import { DATA_PAGES, OPERATOR_PAGES, ORGANIZATION_PAGES, USER_PAGES, VISITOR_PAGES } from './page-paths';

/** Every path of the router, so that a new page cannot be left out. */
function routedPaths(): readonly string[] {
  return ['visitor', 'signed-in', 'organization', 'operator'].flatMap((name) => {
    const text = readFileSync(join(__dirname, `../../src/web/routes/${name}.ts`), 'utf8');
    return [...text.matchAll(/^ {2}path: '([^']*)'/gm)].map(([, path]) => `${name} ${path}`);
  });
}

/** The themes with the rules of axe for each. The first test shows that dark needs no others. */
const THEMES = [
  ['light', undefined],
  ['dark', COLOR_RULES],
] as const;

/** A small screen, and a window of 1280 × 900 at 200 % zoom. WCAG 2.2, 1.4.10 and 1.4.4. */
const SMALL_VIEWS = [
  [320, 640, 'narrow'],
  [640, 450, 'zoomed'],
] as const;

/** CSS pixels. Lists need no scrolling at this width; on smaller screens they may scroll in their regions. */
const COMMON_PHONE = 360;

/** Every style sheet and script of the built pages. */
function builtFiles(): readonly { readonly name: string; readonly text: string }[] {
  const folder = join(__dirname, '../../dist/pages');
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(?:css|js|html)$/.test(name))
    .map((name) => ({ name, text: readFileSync(join(folder, name), 'utf8') }));
}

/** Hosts that texts and messages name. The policy lets no page load anything from them. */
const NAMED_HOSTS = new Set([
  'www.w3.org',
  'example.com',
  'react.dev',
  'base-ui.com',
  'redux.js.org',
  'redux-toolkit.js.org',
  'tailwindcss.com',
  'github.com',
  'bit.ly',
]);

const LAYOUTS = new Set(['signed-in /', 'organization o/$org', 'operator operator']);

/** The visit that the tests of a group share, so that the browser keeps its caches. A failed test ends it. */
class SharedVisit {
  private current: BrowserUser | undefined;

  constructor(private readonly open: () => Promise<BrowserUser>) {}

  async user(): Promise<BrowserUser> {
    if (this.current === undefined || this.current.page.isClosed()) this.current = await this.open();
    return this.current;
  }

  async close(): Promise<void> {
    if (this.current?.page.isClosed() === false) await this.current.close();
  }
}

describeJourney('every page', () => {
  let served: JobGateway;

  beforeAll(async () => {
    served = await JobGateway.start({ WORKER: 'inline' });
  });
  afterAll(async () => {
    await closeBrowser();
    await served.stop();
  });

  it('differs between the themes only by the colours of light-dark()', () => {
    const files = builtFiles();
    expect(files.some(({ name, text }) => name.endsWith('.css') && text.includes('light-dark('))).toBe(true);
    expect(files.filter(({ text }) => text.includes('prefers-color-scheme')).map(({ name }) => name)).toEqual([]);
  });

  it('names no host besides namespaces, placeholders and pages of libraries about their errors, and evaluates no text', () => {
    const hosts = builtFiles().flatMap(({ text }) => [...text.matchAll(/https?:\/\/([\w-]+(?:\.[\w-]+)+)/g)]);
    const unknown = hosts.map(([, host = '']) => host).filter((host) => !NAMED_HOSTS.has(host));
    expect([...new Set(unknown)]).toEqual([]);
    expect(builtFiles().filter(({ text }) => /\beval\(|\bFunction\(["']/.test(text))).toEqual([]);
  });

  it('is in the list of this test', () => {
    const listed = [
      ...VISITOR_PAGES.map((path) => `visitor ${path.slice(1)}`),
      ...USER_PAGES.map((path) => `signed-in ${path.slice(1)}`),
      ...ORGANIZATION_PAGES.map((path) => `organization ${path.slice(1)}`),
      ...OPERATOR_PAGES.map((path) => `operator ${path.slice(1)}`),
    ];
    const isListed = (route: string): boolean => {
      const pattern = new RegExp(`^${route.replace(/ \/$/, ' ').replaceAll(/\$\w+/g, '[^/ ]+')}$`);
      return LAYOUTS.has(route) || listed.some((path) => pattern.test(path));
    };
    expect(routedPaths().filter((route) => !isListed(route))).toEqual([]);
  });

  /** A user of an organization in which every list has an entry. */
  async function busyUser(): Promise<DashboardClient> {
    const { gateway, customer } = served;
    const owner = await gateway.dashboardUser({
      role: 'owner',
      operator: true,
      organizationId: customer.organizationId,
    });
    await gateway.rows('UPDATE organization SET name = $2 WHERE id = $1', [owner.organizationId, 'x'.repeat(200)]);
    await served.submitted({ webhook_url: `https://example.com/${'hook'.repeat(60)}` });
    const chat = { model: 'mock/chat-1', messages: [{ role: 'user', content: 'Hello' }], max_tokens: 20 };
    await gateway.call('/v1/chat/completions', { key: customer.key, body: chat });
    const failing = [{ role: 'user', content: '[[mock: status=500]]' }];
    await gateway.call('/v1/chat/completions', { key: customer.key, body: { ...chat, messages: failing } });
    await owner.call(owner.path('/invitations'), {
      body: { email: 'grace.brewster.murray.hopper@example.com', role: 'developer' },
    });
    await gateway.dashboardUser({ role: 'developer', organizationId: customer.organizationId });
    await owner.call(owner.path('/webhook-test-events'), { body: { url: 'https://example.com/hook' } });
    return owner;
  }

  async function objectsOf(owner: DashboardClient): Promise<Readonly<Record<string, string>>> {
    const first = async (path: string, field: string): Promise<string> => {
      const { json } = await owner.call(owner.path(path));
      return json.data[0]?.[field] ?? randomUUID();
    };
    return {
      org: owner.organizationId,
      request: await first('/usage/requests', 'request_id'),
      job: await first('/jobs', 'id'),
      delivery: await first('/webhook-deliveries', 'id'),
      key: await first('/keys', 'id'),
    };
  }

  const at = (path: string, objects: Readonly<Record<string, string>>): string =>
    `/dashboard${path.replaceAll(/\$(\w+)/g, (_all, name: string) => objects[name] ?? '')}`;

  const GOOD =
    'has no problem that axe finds, one heading, a title, fits 320 px and 200 % zoom, and needs no pointer: %s';

  /** Opens a page in both themes and in small windows. */
  async function expectGood(user: BrowserUser, path: string, name: string): Promise<void> {
    const { page } = user;
    const problems: string[] = [];
    await page.setViewportSize({ width: 1280, height: 900 });
    await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' });
    await page.goto(path);
    await page.locator('h1').first().waitFor();
    await page.waitForLoadState('networkidle');
    for (const [colorScheme, rules] of THEMES) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      for (const problem of await accessibilityProblems(page, rules)) problems.push(`${colorScheme} ${problem}`);
      await user.picture(`${name}-${colorScheme}`);
    }
    for (const table of await tablesThatScroll(page)) problems.push(`at 1280 px, more columns than fit: ${table}`);
    if ((await page.locator('h1').count()) !== 1) problems.push('has not one h1');
    if (!/ · Gateway$|^Gateway$/.test(await page.title())) problems.push(`has the title ${await page.title()}`);
    await page.setViewportSize({ width: COMMON_PHONE, height: 740 });
    for (const list of await tablesThatScroll(page)) problems.push(`at ${COMMON_PHONE} px, does not fit: ${list}`);
    for (const [width, height, picture] of SMALL_VIEWS) {
      await page.setViewportSize({ width, height });
      if (!(await fitsItsWidth(page))) problems.push(`scrolls sideways at ${width} px`);
      for (const problem of await clippedContent(page)) problems.push(`at ${width} px: ${problem}`);
      if (picture === 'narrow') problems.push(...(await unreachableByKeyboard(page)));
      await user.picture(`${name}-${picture}`);
    }
    expect(problems).toEqual([]);
  }

  const nameOf = (path: string): string => path.replaceAll(/[/$]+/g, '-').replace(/^-|-$/g, '') || 'home';

  describe('for visitors', () => {
    const visit = new SharedVisit(() => BrowserUser.open(served.gateway));
    afterAll(() => visit.close());

    it.each([...VISITOR_PAGES, '/no-such-page'])(GOOD, async (path) => {
      await expectGood(await visit.user(), at(path, {}), `visitor-${nameOf(path)}`);
    });
  });

  describe.each([
    ['empty', DATA_PAGES, []],
    ['full', ORGANIZATION_PAGES, USER_PAGES],
  ] as const)('of an organization that is %s', (state, organizationPages, userPages) => {
    let owner: DashboardClient;
    let objects: Readonly<Record<string, string>>;
    const visit = new SharedVisit(async () => {
      const user = await BrowserUser.signedIn(served.gateway, owner);
      user.expectFailure(/^GET .* 404$/);
      return user;
    });

    beforeAll(async () => {
      owner = state === 'full' ? await busyUser() : await served.gateway.dashboardUser({ role: 'owner' });
      objects = await objectsOf(owner);
    });
    afterAll(() => visit.close());

    it.each([...userPages, ...organizationPages.map((path) => `/o/$org${path}`)])(GOOD, async (path) => {
      await expectGood(await visit.user(), at(path, objects), `${state}-${nameOf(path.replace('/o/$org', ''))}`);
    });
  });

  describe('for operators', () => {
    let owner: DashboardClient;
    const visit = new SharedVisit(() => BrowserUser.signedIn(served.gateway, owner));

    beforeAll(async () => {
      owner = await busyUser();
    });
    afterAll(() => visit.close());

    it.each(OPERATOR_PAGES.map((path) => `/operator${path}`))(GOOD, async (path) => {
      const name = `operator-${nameOf(path.replace('/operator', ''))}`;
      await expectGood(await visit.user(), at(path, { org: owner.organizationId }), name);
    });
  });
});
