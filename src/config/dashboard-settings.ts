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
    'How long a session lives that is not used',
  ),
  sessionLifetimeHours: integer(
    'SESSION_LIFETIME_HOURS',
    { min: 1, max: 720, fallback: 12 },
    'How long a session lives at most',
  ),
  attemptsPerAddress: integer(
    'SIGN_IN_ATTEMPTS_PER_ADDRESS',
    { min: 1, max: 1_000_000, fallback: 100 },
    'Failed logins of one address in 15 minutes, and mails that it may ask for in an hour',
  ),
  smtpUrl: serverUrl(
    'SMTP_URL',
    ['smtp', 'smtps'],
    'Sends mails; when not set they are written to the log and to DATA_DIR, in production not sent at all',
  ),
  mailFrom: mailbox('MAIL_FROM', 'Sender of mails; SMTP_URL requires it'),
};
