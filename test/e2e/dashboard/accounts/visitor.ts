/** A browser without a session, with a separate IP address. */
import assert from 'node:assert';
import { randomInt, randomUUID } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FollowUpWork } from '../../../../src/dashboard/accounts/follow-up-work';
import { systemClock, type Clock } from '../../../../src/core/time/clock';
import type { CallOptions, CallReply } from '../../../harness/gateway';
import { TestGateway } from '../../../harness/gateway';
import { documentOf, findOperation, openapiDocument } from '../../../harness/openapi-document';

const API = '/dashboard/api';
export const PASSWORD = 'a password of these tests';

/** The real time plus an offset. */
export class MovedClock implements Clock {
  private aheadMs = 0;

  now(): number {
    return systemClock.now() + this.aheadMs;
  }

  monotonic(): number {
    return systemClock.monotonic() + this.aheadMs;
  }

  moveMinutes(minutes: number): void {
    this.aheadMs += minutes * 60_000;
  }
}

export interface Mail {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  /** From the link; `''`: none. */
  readonly token: string;
}

/** A gateway that writes mails to files and trusts the client address header. */
export class AccountsGateway {
  private constructor(
    readonly gateway: TestGateway,
    readonly clock: MovedClock,
    private readonly dataDir: string,
  ) {}

  static async start(environment: Record<string, string> = {}): Promise<AccountsGateway> {
    const dataDir = mkdtempSync(join(tmpdir(), 'gateway-mails-'));
    const clock = new MovedClock();
    const settings = { DATA_DIR: dataDir, TRUST_PROXY: '127.0.0.1', ...environment };
    return new AccountsGateway(await TestGateway.start(settings, clock), clock, dataDir);
  }

  async stop(): Promise<void> {
    await this.gateway.stop();
    rmSync(this.dataDir, { recursive: true, force: true });
  }

  visitor(): Visitor {
    return new Visitor(this.gateway);
  }

  /** Mails to one address, oldest first. */
  mailsTo(email: string): Mail[] {
    const directory = join(this.dataDir, 'mail');
    const mails = readdirSync(directory)
      .toSorted()
      .map((name) => toMail(readFileSync(join(directory, name), 'utf8')));
    return mails.filter(({ to }) => to === email);
  }

  /** The token of the newest mail to an address. */
  tokenTo(email: string): string {
    return this.mailsTo(email).at(-1)?.token ?? '';
  }

  /** A visitor with a verified account, not signed in. */
  async user(password = PASSWORD): Promise<{ readonly email: string; readonly visitor: Visitor }> {
    const email = newEmail();
    const visitor = this.visitor();
    await visitor.post('/register', { email, password, name: 'Ada' });
    await visitor.post('/email-verifications/confirm', { token: this.tokenTo(email) });
    return { email, visitor };
  }

  /** A signed-in visitor with a verified account. */
  async signedIn(): Promise<{ readonly email: string; readonly visitor: Visitor }> {
    const user = await this.user();
    const reply = await user.visitor.login(user.email);
    assert.strictEqual(reply.status, 200);
    return user;
  }
}

export class Visitor {
  /** The cookie that the browser sends, updated from responses. */
  cookie: string | undefined;
  readonly address = `2001:db8:${randomGroup()}:${randomGroup()}::1`;

  constructor(private readonly gateway: TestGateway) {}

  get(path: string): Promise<CallReply> {
    return this.call(path, { method: 'GET' });
  }

  post(path: string, body?: unknown, headers: Record<string, string> = {}): Promise<CallReply> {
    return this.call(path, { method: 'POST', body, headers });
  }

  login(email: string, password = PASSWORD): Promise<CallReply> {
    return this.post('/login', { email, password });
  }

  /** Whether the cookie belongs to a valid session. */
  async status(): Promise<number> {
    return (await this.get('/me')).status;
  }

  async call(path: string, { headers, ...options }: CallOptions): Promise<CallReply> {
    const reply = await this.gateway.call(`${API}${path}`, {
      ...options,
      headers: {
        'x-forwarded-for': this.address,
        'x-requested-with': 'test',
        ...(this.cookie !== undefined && { cookie: this.cookie }),
        ...headers,
      },
    });
    const [set] = reply.headers.getSetCookie();
    if (set !== undefined) this.cookie = set.split(';', 1)[0];
    // Wait for work that runs after the response.
    await this.gateway.app.get(FollowUpWork, { strict: false }).flush();
    await this.assertAudited(options.method ?? 'GET', path, reply);
    return reply;
  }

  private async assertAudited(method: string, path: string, reply: CallReply): Promise<void> {
    if (method === 'GET' || reply.status >= 300) return;
    const full = `${API}${path}`;
    const action = findOperation(openapiDocument(documentOf(full)), method, full)?.node.value['x-audit'];
    const entries = await this.gateway.rows<{ action: string }>(
      'SELECT action FROM audit_entry WHERE request_id = $1',
      [reply.headers.get('x-request-id')],
    );
    const actions = entries.map((entry) => entry.action);
    // Operations without a change have no `x-audit`, and write no entry.
    const isRight = action === undefined ? actions.length === 0 : actions.includes(String(action));
    assert(isRight, `${method} ${full} left ${JSON.stringify(actions)} in the audit log`);
  }
}

export function newEmail(): string {
  return `${randomUUID()}@example.com`;
}

/** A response without the fields that differ per request. */
export function substanceOf({ status, text, headers }: CallReply): object {
  const names = [...headers.keys()].filter((name) => !['date', 'x-request-id', 'keep-alive'].includes(name));
  return { status, names, text: text.replace(/req_[0-9a-f]{32}/, 'req') };
}

function toMail(file: string): Mail {
  const [, to = '', subject = '', text = ''] = /^To: (.*)\nSubject: (.*)\n\n([^]*)$/.exec(file) ?? [];
  return { to, subject, text, token: /#token=([\w-]{43})/.exec(text)?.[1] ?? '' };
}

/** A group of an IPv6 address, without leading zeros. */
function randomGroup(): string {
  return randomInt(0x1000, 0x10000).toString(16);
}
