import { availableParallelism } from 'node:os';
import pLimit from 'p-limit';
import { GatewayError } from '../../core/errors/gateway-error';
import { normalizePassword } from './password-rules';

/** The OWASP minimum. One hash takes about 20 ms of a core, and `memoryCost` KiB. */
export const ARGON2_PARAMETERS = { memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const;

/**
 * Argon2 runs on Node's thread pool: two of its four threads stay free for file access and DNS, and one core stays free
 * to serve requests.
 */
export const HASHES_AT_ONCE = Math.max(1, Math.min(2, availableParallelism() - 1));
/** With one hash at a time, the last in the queue waits about 0.8 s. */
export const MAX_WAITING_HASHES = 32;

const { memoryCost, timeCost, parallelism } = ARGON2_PARAMETERS;
/** Takes as long to verify as any other hash; no password is known to match it. */
const DUMMY_HASH = `$argon2id$v=19$m=${memoryCost},t=${timeCost},p=${parallelism}$${'A'.repeat(22)}$${'A'.repeat(43)}`;

export interface PasswordVerdict {
  readonly matches: boolean;
  /** Whether the hash was created with other parameters than the current ones. */
  readonly isOutdated: boolean;
}

/** Argon2id with bounded concurrency and queue, so that logins cannot starve inference of CPU. */
export class PasswordHasher {
  private readonly limitHashes = pLimit(HASHES_AT_ONCE);

  /** @throws GatewayError `rate_limited` when the queue is full. */
  hash(password: string): Promise<string> {
    return this.withArgon2(async ({ hash }) => hash(normalizePassword(password), ARGON2_PARAMETERS));
  }

  /**
   * @param storedHash `null`: no such account. Takes as long as a real hash, as does an account without a password.
   * @throws GatewayError `rate_limited` when the queue is full.
   */
  verify(storedHash: string | null, password: string): Promise<PasswordVerdict> {
    return this.withArgon2(async ({ verify, parseOptions }) => {
      const isHash = storedHash?.startsWith('$argon2') === true;
      const matches = await verify(isHash ? storedHash : DUMMY_HASH, normalizePassword(password));
      if (!isHash) return { matches: false, isOutdated: false };
      const used = parseOptions(storedHash);
      const isOutdated =
        used.memoryCost !== memoryCost || used.timeCost !== timeCost || used.parallelism !== parallelism;
      return { matches, isOutdated };
    });
  }

  private async withArgon2<Result>(
    work: (argon2: typeof import('@node-rs/argon2')) => Promise<Result>,
  ): Promise<Result> {
    if (this.limitHashes.pendingCount >= MAX_WAITING_HASHES) {
      throw new GatewayError('rate_limited', 'Too many sign-ins at the moment. Retry shortly.', {
        retryAfterSeconds: 1,
      });
    }
    // Loaded on first use: most processes of a large deployment never hash a password.
    return this.limitHashes(async () => work(await import('@node-rs/argon2')));
  }
}
