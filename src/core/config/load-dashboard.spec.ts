import { ConfigurationError, loadConfig, type Environment } from './load-config';

const PRODUCTION = {
  NODE_ENV: 'production',
  DATABASE_URL: 'postgres://gateway:secret@db/gateway',
  REDIS_URL: 'rediss://:secret@cache:6380/0',
  API_KEY_PEPPER: 'p'.repeat(32),
  SECRETS_KEY: 'ab'.repeat(32),
};

function problemsOf(environment: Environment): readonly string[] {
  try {
    loadConfig(environment);
    return [];
  } catch (error) {
    if (error instanceof ConfigurationError) return error.problems;
    throw error;
  }
}

describe('the settings of the dashboard', () => {
  it('bind the cookies of sessions to https in production, and refuse not to', () => {
    expect(loadConfig(PRODUCTION).dashboard.cookieSecure).toBe(true);
    expect(problemsOf({ ...PRODUCTION, SESSION_COOKIE_SECURE: 'false' })).toEqual([
      'SESSION_COOKIE_SECURE is "false", which production does not allow',
    ]);
    expect(loadConfig({ SESSION_COOKIE_SECURE: 'true' }).dashboard.cookieSecure).toBe(true);
  });

  it('convert session minutes and hours to milliseconds', () => {
    const { sessions } = loadConfig({ SESSION_IDLE_MINUTES: '5', SESSION_LIFETIME_HOURS: '2' }).dashboard;
    expect(sessions).toEqual({ idleMs: 300_000, absoluteMs: 7_200_000 });
  });
});

describe('the settings of mails', () => {
  const SMTP_URL = 'smtp://user:secret@mail.example:587';

  it('name a server only together with a sender', () => {
    expect(problemsOf({ SMTP_URL }).map((problem) => problem.split(',')[0])).toEqual(['MAIL_FROM is not set']);
    expect(loadConfig({ SMTP_URL, MAIL_FROM: 'The Gateway <no-reply@example.com>' }).mail).toEqual({
      smtpUrl: SMTP_URL,
      from: { name: 'The Gateway', address: 'no-reply@example.com' },
    });
    expect(loadConfig({ MAIL_FROM: 'no-reply@example.com' }).mail.from).toEqual({
      name: '',
      address: 'no-reply@example.com',
    });
  });

  it('accept one sender, and never show the password of the server in an error', () => {
    expect(problemsOf({ MAIL_FROM: 'a@example.com, b@example.com' })).toHaveLength(1);
    expect(problemsOf({ SMTP_URL: 'mail.example:secret' })[0]).not.toContain('secret');
  });
});
