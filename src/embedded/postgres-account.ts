import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** The system account that PostgreSQL runs as. `null`: the one of this process. */
export type PostgresAccount = { readonly uid: number; readonly gid: number } | null;

/** PostgreSQL refuses to run as root, so root lends it an account that every system has. */
const ACCOUNT_NAMES = ['postgres', 'nobody'];

/** @throws Error when this process is root and the system has none of the accounts */
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
  throw new Error(
    `PostgreSQL does not run as root, and this system has no account ${ACCOUNT_NAMES.join(' or ')}. ` +
      'Run the gateway as another user, or set DATABASE_URL.',
  );
}

/** Whether the account can start a program, which includes every folder on the way and its libraries. */
export function canRun(program: string, account: PostgresAccount): boolean {
  return spawnSync(program, ['--version'], { ...account, cwd: '/', stdio: 'ignore', env: {} }).status === 0;
}

/** Whether the account can work in a directory, which includes every folder on the way. */
export function canUseDirectory(directory: string, account: PostgresAccount): boolean {
  const script = 'cd "$1" && test -r . && test -w .';
  return spawnSync('/bin/sh', ['-c', script, 'sh', directory], { ...account, cwd: '/', stdio: 'ignore' }).status === 0;
}
