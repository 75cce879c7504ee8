import { availableParallelism } from 'node:os';
import { GatewayError } from '../common/errors/gateway-error';
import { Semaphore, SemaphoreFullError } from '../common/semaphore';
import { normalizePassword } from './password-rules';

/** What OWASP asks for at least; one takes some 20 ms of a core, and `memoryCost` KiB. */
export const ARGON2_PARAMETERS = { memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const;

/**
 * Argon2 runs on the thread pool of Node: two of its four threads stay free for files and names. Nor does it take the last
 * core, on which requests are served meanwhile.
 */
export const HASHES_AT_ONCE = Math.max(1, Math.min(2, availableParallelism() - 1));
/** With one at once, the last of them waits some 0.8 s. */
export const MAX_WAITING_HASHES = 32;

const { memoryCost, timeCost, parallelism } = ARGON2_PARAMETERS;
/** Takes as long as any other hash to verify, and no password is known to match it. */
const NOBODYS_HASH = `$argon2id$v=19$m=${memoryCost},t=${timeCost},p=${parallelism}$${'A'.repeat(22)}$${'A'.repeat(43)}`;

export interface PasswordVerdict {
  readonly matches: boolean;
  /** It was hashed with other parameters than are in use now. */
  readonly isOutdated: boolean;
}

/** Argon2id in bounded numbers: signing in must not take the processor from inference, nor queue without end. */
export class PasswordHasher {
  private readonly gate = new Semaphore(HASHES_AT_ONCE, MAX_WAITING_HASHES);

  /** @throws GatewayError `rate_limited` when too many wait. */
  hash(password: string): Promise<string> {
    return this.run(async ({ hash }) => hash(normalizePassword(password), ARGON2_PARAMETERS));
  }

  /**
   * @param storedHash `null`: there is no such account, which takes just as long; so does one that has no password.
   * @throws GatewayError `rate_limited` when too many wait.
   */
  verify(storedHash: string | null, password: string): Promise<PasswordVerdict> {
    return this.run(async ({ verify, parseOptions }) => {
      const isHash = storedHash?.startsWith('$argon2') === true;
      const matches = await verify(isHash ? storedHash : NOBODYS_HASH, normalizePassword(password));
      if (!isHash) return { matches: false, isOutdated: false };
      const used = parseOptions(storedHash);
      const isOutdated =
        used.memoryCost !== memoryCost || used.timeCost !== timeCost || used.parallelism !== parallelism;
      return { matches, isOutdated };
    });
  }

  private async run<Result>(work: (argon2: typeof import('@node-rs/argon2')) => Promise<Result>): Promise<Result> {
    try {
      // Loaded with the first password: most processes of a large deployment never see one.
      return await this.gate.run(async () => work(await import('@node-rs/argon2')));
    } catch (cause) {
      if (!(cause instanceof SemaphoreFullError)) throw cause;
      throw new GatewayError('rate_limited', 'Too many people are signing in at this moment.', {
        retryAfterSeconds: 1,
      });
    }
  }
}
