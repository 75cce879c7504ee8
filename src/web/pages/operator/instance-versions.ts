import type { Instance } from '../../../contract/dashboard';

/** The version of the living instance that started last. @param instances the latest started first */
export function expectedVersion(instances: readonly Instance[]): string | null {
  return instances.find(({ alive }) => alive)?.version ?? null;
}

/** Whether a living instance runs another version than expected. */
export function hasOtherVersion({ alive, version }: Instance, expected: string | null): boolean {
  return alive && version !== expected;
}
