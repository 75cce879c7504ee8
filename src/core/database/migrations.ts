import { Baseline1797700000000 } from '../../../migrations/1797700000000-baseline';
import type { Migration } from './migration-files';

/** Every migration, oldest first: an explicit list keeps the build free of globs, and its spec checks it against the folder. */
export const MIGRATIONS: readonly (new () => Migration)[] = [Baseline1797700000000];
