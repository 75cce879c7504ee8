import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { EmbeddedServerError } from './embedded-server-error';

/** The system account that PostgreSQL runs as. `null`: the current one. */
export type PostgresAccount = { readonly uid: number; readonly gid: number } | null;

/** PostgreSQL refuses to run as root, so under root it runs as a standard system account. */
const ACCOUNT_NAMES = ['postgres', 'nobody'];

/** @throws EmbeddedServerError when this process is root and the system has none of the accounts */
export function choosePostgresAccount(): PostgresAccount {
  if (process.getuid?.() !== 0) {
    return null;
  }
  const entries = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'));
  for (const name of ACCOUNT_NAMES) {
    const [, , uid, gid] = entries.find(([entryName]) => entryName === name) ?? [];
    if (uid !== undefined && gid !== undefined) {
      return { uid: Number(uid), gid: Number(gid) };
    }
  }
  throw new EmbeddedServerError(
    `PostgreSQL does not run as root, and this system has no account ${ACCOUNT_NAMES.join(' or ')}. ` +
      'Run the gateway as another user, or set DATABASE_URL.',
  );
}

/** Whether the account can run a program, including access to all parent folders and libraries. */
export function canRun(program: string, account: PostgresAccount): boolean {
  return spawnSync(program, ['--version'], { ...account, cwd: '/', stdio: 'ignore', env: {} }).status === 0;
}

/** Whether the account can use a directory, including access to all parent folders. */
export function canUseDirectory(directory: string, account: PostgresAccount): boolean {
  const script = 'cd "$1" && test -r . && test -w .';
  return spawnSync('/bin/sh', ['-c', script, 'sh', directory], { ...account, cwd: '/', stdio: 'ignore' }).status === 0;
}
