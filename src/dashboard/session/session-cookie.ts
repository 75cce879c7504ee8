import { Inject, Injectable } from '@nestjs/common';
import { parseCookie, stringifySetCookie } from 'cookie';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { APP_CONFIG, type AppConfig } from '../../core/config/app-config';

const SECURE_NAME = '__Host-sid';
/** For plain HTTP, where browsers reject the `__Host-` prefix. */
const PLAIN_NAME = 'sid';

/** The session cookie. Scripts cannot read it, and other sites send it only with top-level navigation. */
@Injectable()
export class SessionCookie {
  readonly name: string;
  private readonly secure: boolean;

  constructor(@Inject(APP_CONFIG) { dashboard }: Pick<AppConfig, 'dashboard'>) {
    this.secure = dashboard.cookieSecure;
    this.name = this.secure ? SECURE_NAME : PLAIN_NAME;
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
