import type { AppConfig } from './app-config';
import { DASHBOARD_SETTINGS as SETTINGS } from './dashboard-settings';
import type { SettingReader } from './setting-reader';

const MINUTE_MS = 60_000;

export function readDashboard(reader: SettingReader, production: boolean): AppConfig['dashboard'] {
  const read = reader.read.bind(reader);
  const secure = read(SETTINGS.sessionCookieSecure);
  // Without it a session cookie can be read in transit, or set by a neighbouring host.
  if (production && secure === 'false') {
    reader.note(`${SETTINGS.sessionCookieSecure.name} is "false", which production does not allow`);
  }
  return {
    url: read(SETTINGS.dashboardUrl),
    cookieSecure: secure === null ? production : secure === 'true',
    sessions: {
      idleMs: read(SETTINGS.sessionIdleMinutes) * MINUTE_MS,
      absoluteMs: read(SETTINGS.sessionLifetimeHours) * 60 * MINUTE_MS,
    },
    attemptsPerAddress: read(SETTINGS.attemptsPerAddress),
    changesPerMinute: read(SETTINGS.changesPerMinute),
  };
}

export function readMail(reader: SettingReader): AppConfig['mail'] {
  const smtpUrl = reader.read(SETTINGS.smtpUrl);
  if (smtpUrl !== null) reader.require([SETTINGS.mailFrom], SETTINGS.smtpUrl.name);
  return { smtpUrl, from: reader.read(SETTINGS.mailFrom) };
}
