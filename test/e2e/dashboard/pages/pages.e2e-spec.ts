import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { TestGateway, type CallReply } from '../../../harness/gateway';

const HTML = 'text/html,application/xhtml+xml,*/*;q=0.8';
const PAGES = join(__dirname, '../../../../dist/pages');

let gateway: TestGateway;
let script: string;

beforeAll(async () => {
  gateway = await TestGateway.start();
  script = /src="(\/dashboard\/assets\/[^"]+\.js)"/.exec(readFileSync(join(PAGES, 'index.html'), 'utf8'))?.[1] ?? '';
});
afterAll(() => gateway.stop());

/** Asks like a browser, without any key or session. */
function visit(path: string, headers: Record<string, string> = {}): Promise<CallReply> {
  return gateway.call(path, { key: null, headers: { accept: HTML, ...headers } });
}

describe('the bare address of the gateway', () => {
  it('leads browsers to the dashboard, and is not found for other clients', async () => {
    const reply = await fetch(`${gateway.url}/`, { headers: { accept: HTML }, redirect: 'manual' });
    expect([reply.status, reply.headers.get('location')]).toEqual([302, '/dashboard']);
    expect((await visit('/', { accept: 'application/json' })).status).toBe(404);
  });
});

describe('a path below /dashboard', () => {
  it.each(['/dashboard', '/dashboard/login', '/dashboard/o/any/requests', '/dashboard/no-such-page'])(
    'is the page for browsers: %s',
    async (path) => {
      const { status, headers, text } = await visit(path);
      expect([status, headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
      expect(text).toContain('<div id="root">');
    },
  );

  it('is an error envelope for clients that do not accept HTML', async () => {
    for (const accept of ['application/json', '*/*']) {
      const { status, json } = await visit('/dashboard/login', { accept });
      expect([status, json.error.code]).toEqual([404, 'not_found']);
    }
  });

  it('is an error envelope below /dashboard/api for browsers too', async () => {
    const { status, json } = await visit('/dashboard/api/no-such-operation');
    expect([status, json.error.code]).toEqual([404, 'not_found']);
  });
});

describe('the page', () => {
  it('allows only its own scripts, styles and connections, pictures of the storage, and no frame around it', async () => {
    const { headers } = await visit('/dashboard');
    const policy = (headers.get('content-security-policy') ?? '').split('; ');
    expect(policy).toEqual([
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "connect-src 'self'",
      expect.stringMatching(/^img-src 'self' blob: http:\/\/[\w.]+:\d+$/),
      expect.stringMatching(/^media-src 'self' blob: http:\/\/[\w.]+:\d+$/),
      "manifest-src 'self'",
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
      "require-trusted-types-for 'script'",
      "trusted-types 'none'",
    ]);
    expect(Object.fromEntries(headers)).toMatchObject({
      'cache-control': 'private, no-cache',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
      'permissions-policy': 'camera=(), geolocation=(), payment=(), usb=(), microphone=(self)',
    });
    expect(headers.get('vary')).toContain('Cookie');
  });

  it('has the theme of the cookie before any script runs, and no other value of the cookie', async () => {
    expect((await visit('/dashboard', { cookie: 'theme=dark' })).text).toContain('<html lang="en" data-theme="dark">');
    expect((await visit('/dashboard', { cookie: 'theme="><script>' })).text).toContain('<html lang="en">');
  });

  it('is not sent again while it is unchanged, in each encoding and theme', async () => {
    const tags = new Set<string>();
    const clients: Record<string, string>[] = [
      { 'accept-encoding': 'br, gzip' },
      { 'accept-encoding': 'gzip' },
      { 'accept-encoding': 'br;q=0' },
      { cookie: 'theme=dark' },
    ];
    for (const headers of clients) {
      const etag = (await visit('/dashboard', headers)).headers.get('etag') ?? '';
      tags.add(etag);
      expect((await visit('/dashboard', { ...headers, 'if-none-match': etag })).status).toBe(304);
    }
    expect(tags.size).toBe(4);
  });

  it('answers HEAD with the headers only', async () => {
    const { status, headers } = await fetch(`${gateway.url}/dashboard/`, { method: 'HEAD', headers: { accept: HTML } });
    expect([status, headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    expect(headers.get('content-security-policy')).toContain("default-src 'none'");
  });
});

describe('a file of the pages', () => {
  it.each([
    ['br, gzip', 'br'],
    ['gzip, deflate', 'gzip'],
    ['identity', null],
  ])('accepted as %s is sent as %s, the same bytes, and kept for a year', async (accepted, encoding) => {
    const { status, headers, bytes } = await visit(script, { 'accept-encoding': accepted });
    expect([status, headers.get('content-encoding')]).toEqual([200, encoding]);
    expect(headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    const onDisk = readFileSync(join(PAGES, script.replace('/dashboard/', '')));
    expect(digest(bytes)).toBe(digest(onDisk));
    const etag = headers.get('etag') ?? '';
    const again = await visit(script, { 'accept-encoding': accepted, 'if-none-match': etag });
    expect(again.status).toBe(304);
  });

  it.each(['/dashboard/assets/gone-12345678.js', '/dashboard/assets/..%2findex.html', '/dashboard/assets/files.json'])(
    'that does not exist is never the page: %s',
    async (path) => {
      const { status, headers, json } = await visit(path);
      expect([status, json.error.code]).toEqual([404, 'not_found']);
      expect(headers.get('cache-control')).toContain('no-store');
    },
  );
});

function digest(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}
