import { baseUrl, flag, integer, mailbox, optional, serverUrl } from './setting-kinds';

/** Signing in to the dashboard, and the mails that go with it. */
export const DASHBOARD_SETTINGS = {
  DASHBOARD_URL: optional(baseUrl).describe(
    'URL of the dashboard in mails; when not set: /dashboard at PUBLIC_BASE_URL, or at this machine without one',
  ),
  SESSION_COOKIE_SECURE: optional(flag).describe(
    'Browsers send session cookies over https only; when not set: true in production, which refuses false',
  ),
  SESSION_IDLE_MINUTES: integer(1, 10_080).default(30).describe('Idle timeout of a session'),
  SESSION_LIFETIME_HOURS: integer(1, 720).default(12).describe('Maximum age of a session'),
  SIGN_IN_ATTEMPTS_PER_ADDRESS: integer(1, 1_000_000)
    .default(100)
    .describe(
      'Limit per network of failed logins and of forged job-report URLs in 15 minutes, and of requested mails in an hour',
    ),
  DASHBOARD_CHANGES_PER_MINUTE: integer(1, 1_000_000)
    .default(300)
    .describe('Changes that one user may make in the dashboard in a minute; further ones get 429'),
  PLAYGROUND_DAILY_BUDGET_MICRO: integer(0, Number.MAX_SAFE_INTEGER)
    .default(5_000_000)
    .describe('Micro-dollars that one user may spend in the playground of an organization in a day (UTC)'),
  SMTP_URL: optional(serverUrl('smtp', 'smtps')).describe(
    'Mail server; when not set, mails are written to the log and DATA_DIR, and in production not sent at all',
  ),
  MAIL_FROM: optional(mailbox).describe('Sender of mails; required with SMTP_URL'),
};
