import { createHash } from 'node:crypto';
import ipaddr from 'ipaddr.js';

/** At most `limit` attempts in any `windowMs`. */
export interface AttemptLog {
  readonly key: string;
  readonly limit: number;
  readonly windowMs: number;
}

const MINUTE_MS = 60_000;
const LOGIN_WINDOW_MS = 15 * MINUTE_MS;
const MAIL_WINDOW_MS = 60 * MINUTE_MS;
const FAILURES_PER_ACCOUNT = 10;
const MAILS_PER_EMAIL = 5;
const INVITATIONS_PER_USER = 50;
const REDELIVERIES_PER_ORGANIZATION = 60;

/** Failed logins of an account, or of an e-mail that has none: nobody can tell which. */
export function loginLogOfAccount(emailKey: string): AttemptLog {
  return { key: `attempts:login:email:${digest(emailKey)}`, limit: FAILURES_PER_ACCOUNT, windowMs: LOGIN_WINDOW_MS };
}

export function loginLogOfAddress(address: string, limit: number): AttemptLog {
  return { key: `attempts:login:address:${networkOf(address)}`, limit, windowMs: LOGIN_WINDOW_MS };
}

/** Mails to one address that people ask for without having proved anything. */
export function mailLogOfEmail(emailKey: string): AttemptLog {
  return { key: `attempts:mail:email:${digest(emailKey)}`, limit: MAILS_PER_EMAIL, windowMs: MAIL_WINDOW_MS };
}

/** Invitations: the mails that somebody who is signed in has sent to strangers. */
export function mailLogOfUser(userId: string): AttemptLog {
  return { key: `attempts:mail:user:${userId}`, limit: INVITATIONS_PER_USER, windowMs: MAIL_WINDOW_MS };
}

export function mailLogOfAddress(address: string, limit: number): AttemptLog {
  return { key: `attempts:mail:address:${networkOf(address)}`, limit, windowMs: MAIL_WINDOW_MS };
}

/** Webhooks sent again: each is a request to a host of the organization's choice. */
export function redeliveryLogOf(organizationId: string): AttemptLog {
  return { key: `attempts:redelivery:${organizationId}`, limit: REDELIVERIES_PER_ORGANIZATION, windowMs: MINUTE_MS };
}

/** E-mails are of any length, and nobody who reads Redis needs to see them. */
function digest(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}

/** Who has one IPv6 address has 2^64 of them, so those count as one. */
export function networkOf(address: string): string {
  if (!ipaddr.isValid(address)) return digest(address);
  const parsed = ipaddr.process(address);
  if (parsed.kind() === 'ipv4') return parsed.toString();
  return `${(parsed as ipaddr.IPv6).parts
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(':')}::/64`;
}
