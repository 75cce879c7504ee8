import { parseCookie, stringifySetCookie } from 'cookie';
import type { FastifyReply, FastifyRequest } from 'fastify';

const SECURE_NAME = '__Host-sid';
/** For plain HTTP, where browsers reject the `__Host-` prefix. */
const PLAIN_NAME = 'sid';

/** The session cookie. Scripts cannot read it, and other sites send it only with top-level navigation. */
export class SessionCookie {
  readonly name: string;

  constructor(private readonly secure: boolean) {
    this.name = secure ? SECURE_NAME : PLAIN_NAME;
  }

  read({ headers }: FastifyRequest): string | null {
    const { cookie } = headers;
    return cookie === undefined ? null : (parseCookie(cookie)[this.name] ?? null);
  }

  write(reply: FastifyReply, token: string, expiresAt: Date): void {
    this.set(reply, token, expiresAt);
  }

  clear(reply: FastifyReply): void {
    this.set(reply, '', new Date(0));
  }

  private set(reply: FastifyReply, value: string, expires: Date): void {
    const { name, secure } = this;
    reply.header(
      'set-cookie',
      stringifySetCookie({ name, value, expires, secure, httpOnly: true, sameSite: 'lax', path: '/' }),
    );
  }
}
