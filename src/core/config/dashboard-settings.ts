import { baseUrl, choice, integer, mailbox, serverUrl } from './setting';

/** Signing in to the dashboard, and the mails that go with it. */
export const DASHBOARD_SETTINGS = {
  dashboardUrl: baseUrl(
    'DASHBOARD_URL',
    'The dashboard as links in mails name it; when not set /dashboard at PUBLIC_BASE_URL, else at this machine',
  ),
  sessionCookieSecure: choice(
    'SESSION_COOKIE_SECURE',
    ['true', 'false'],
    null,
    'Cookies of sessions travel over https only; when not set true in production, which refuses false',
  ),
  sessionIdleMinutes: integer(
    'SESSION_IDLE_MINUTES',
    { min: 1, max: 10_080, fallback: 30 },
    'Idle timeout of a session',
  ),
  sessionLifetimeHours: integer(
    'SESSION_LIFETIME_HOURS',
    { min: 1, max: 720, fallback: 12 },
    'Maximum age of a session',
  ),
  attemptsPerAddress: integer(
    'SIGN_IN_ATTEMPTS_PER_ADDRESS',
    { min: 1, max: 1_000_000, fallback: 100 },
    'Failed logins from one network in 15 minutes, and requests for mails in an hour',
  ),
  changesPerMinute: integer(
    'DASHBOARD_CHANGES_PER_MINUTE',
    { min: 1, max: 1_000_000, fallback: 300 },
    'Changes that one user may make in the dashboard in a minute; beyond: 429',
  ),
  smtpUrl: serverUrl(
    'SMTP_URL',
    ['smtp', 'smtps'],
    'Mail server; when not set mails go to the log and DATA_DIR, in production nowhere',
  ),
  mailFrom: mailbox('MAIL_FROM', 'Sender of mails; required with SMTP_URL'),
};
