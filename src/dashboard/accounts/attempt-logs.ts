import { type AttemptLog, digest, networkOf } from '../../auth/rate-limits/attempt-log';

/** Facts about an account before a login, which distinguish its owner from an attacker who guesses. */
export interface SignInHistory {
  /** Whether the account has signed in from this network within 30 days. */
  readonly isKnownNetwork: boolean;
  /** Id of a password reset within the last 15 minutes; earlier failures do not count. */
  readonly resetId: string | null;
}

const MINUTE_MS = 60_000;
export const LOGIN_WINDOW_MS = 15 * MINUTE_MS;
const MAIL_WINDOW_MS = 60 * MINUTE_MS;
const FAILURES_PER_ACCOUNT_AND_NETWORK = 10;
const FAILURES_PER_ACCOUNT = 100;
const MAILS_PER_EMAIL_AND_SENDER = 5;
const MAILS_PER_EMAIL = 10;
const INVITATIONS_PER_USER = 50;

/** Purpose of a mail. Each has separate limits. */
export type MailPurpose = 'registration' | 'verification' | 'password_reset' | 'invitation';
const REDELIVERIES_PER_ORGANIZATION = 60;

/**
 * The logs of failed logins that a login from `address` (`null`: unknown) must pass; an e-mail without an account has
 * the same logs. The first, `pair`, counts the account and the network together, so that failures elsewhere do not lock
 * the owner out. The second counts the account alone, which limits guessing from many networks; networks from which the
 * account has signed in skip it. The third counts the network across all accounts. For 15 minutes after a password
 * reset, earlier failures of the account and of the network do not count.
 */
export function loginLogsOf(
  emailKey: string,
  address: string | null,
  { isKnownNetwork, resetId }: SignInHistory,
  attemptsPerAddress: number,
): { readonly pair: AttemptLog; readonly others: readonly AttemptLog[] } {
  const account = `attempts:login:email:${digest(emailKey)}${resetId === null ? '' : `:${resetId}`}`;
  const network = address === null ? 'unknown' : networkOf(address);
  const windowMs = LOGIN_WINDOW_MS;
  const pair = { key: `${account}:${network}`, limit: FAILURES_PER_ACCOUNT_AND_NETWORK, windowMs };
  const others: AttemptLog[] = [];
  if (!isKnownNetwork) others.push({ key: account, limit: FAILURES_PER_ACCOUNT, windowMs });
  if (address !== null && resetId === null) {
    others.push({ key: `attempts:login:address:${network}`, limit: attemptsPerAddress, windowMs });
  }
  return { pair, others };
}

/**
 * Logs of mails of one purpose to an address: those that one sender (a network, or a user) caused, and those of all
 * senders together. A single sender cannot exhaust the second limit.
 */
export function mailLogsOfEmail(purpose: MailPurpose, emailKey: string, sender: string): readonly AttemptLog[] {
  const email = `attempts:mail:${purpose}:${digest(emailKey)}`;
  return [
    { key: `${email}:${sender}`, limit: MAILS_PER_EMAIL_AND_SENDER, windowMs: MAIL_WINDOW_MS },
    { key: email, limit: MAILS_PER_EMAIL, windowMs: MAIL_WINDOW_MS },
  ];
}

/** Invitations that one user has sent. */
export function mailLogOfUser(userId: string): AttemptLog {
  return { key: `attempts:mail:user:${userId}`, limit: INVITATIONS_PER_USER, windowMs: MAIL_WINDOW_MS };
}

export function mailLogOfAddress(address: string, limit: number): AttemptLog {
  return { key: `attempts:mail:address:${networkOf(address)}`, limit, windowMs: MAIL_WINDOW_MS };
}

/** Previews of invitations with a wrong token. `address` `null`: unknown. */
export function invitationLogOfAddress(address: string | null, limit: number): AttemptLog {
  const network = address === null ? 'unknown' : networkOf(address);
  return { key: `attempts:invitation:address:${network}`, limit, windowMs: LOGIN_WINDOW_MS };
}

/** Changes that a user makes in the dashboard, over all sessions. */
export function changeLogOfUser(userId: string, limit: number): AttemptLog {
  return { key: `attempts:change:user:${userId}`, limit, windowMs: MINUTE_MS };
}

/** Calls with a body that change nothing, such as estimates while a user is typing. */
export function questionLogOfUser(userId: string, limit: number): AttemptLog {
  return { key: `attempts:question:user:${userId}`, limit, windowMs: MINUTE_MS };
}

/** Manual webhook redeliveries: each is a request to a host that the organization chooses. */
export function redeliveryLogOf(organizationId: string): AttemptLog {
  return { key: `attempts:redelivery:${organizationId}`, limit: REDELIVERIES_PER_ORGANIZATION, windowMs: MINUTE_MS };
}
