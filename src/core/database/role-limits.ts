import type { Logger } from '@nestjs/common';
import type { DataSource } from 'typeorm';

/** The startup parameters that a connection without a pooler requests (data-source.ts). */
const ROLE_SETTINGS = { jit: 'off', max_parallel_workers_per_gather: '0', statement_timeout: '10s' };

interface Setting {
  readonly name: keyof typeof ROLE_SETTINGS;
  readonly setting: string;
}

/**
 * Behind a pooler, the role has to set the limits of a session. Logs the missing ones, with the statements that set
 * them: the gateway works without them, but a statement that hangs then keeps its connection until PostgreSQL ends it.
 */
export async function reportMissingLimits(
  dataSource: Pick<DataSource, 'query'>,
  logger: Pick<Logger, 'warn'>,
): Promise<void> {
  const [role] = await dataSource.query<{ name: string }[]>('SELECT quote_ident(current_user) AS name');
  const settings = await dataSource.query<Setting[]>('SELECT name, setting FROM pg_settings WHERE name = ANY ($1)', [
    Object.keys(ROLE_SETTINGS),
  ]);
  const missing = settings.filter(isMissing).map(({ name }) => name);
  if (missing.length === 0) return;
  const statements = missing.map((name) => `ALTER ROLE ${role?.name} SET ${name} = '${ROLE_SETTINGS[name]}';`);
  logger.warn({
    event: 'database_limits_missing',
    settings: missing,
    message: `the role of DATABASE_URL lacks session limits, which a pooler does not pass on; run: ${statements.join(' ')}`,
  });
}

/** Any time limit is accepted. */
function isMissing({ name, setting }: Setting): boolean {
  return name === 'statement_timeout' ? setting === '0' : setting !== ROLE_SETTINGS[name];
}
