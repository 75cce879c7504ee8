import { hash } from '@node-rs/argon2';
import { ARGON2_PARAMETERS, HASHES_AT_ONCE, MAX_WAITING_HASHES, PasswordHasher } from './password-hasher';

const PASSWORD = 'a password of this test';

describe('PasswordHasher', () => {
  const hasher = new PasswordHasher();

  it('creates Argon2id hashes with the current parameters and separate salts', async () => {
    const [first, second] = await Promise.all([hasher.hash(PASSWORD), hasher.hash(PASSWORD)]);
    const { memoryCost, timeCost, parallelism } = ARGON2_PARAMETERS;
    expect(first).toMatch(new RegExp(`^\\$argon2id\\$v=19\\$m=${memoryCost},t=${timeCost},p=${parallelism}\\$`));
    expect(first).not.toBe(second);
    await expect(hasher.verify(first, PASSWORD)).resolves.toEqual({ matches: true, isOutdated: false });
    await expect(hasher.verify(first, 'another password')).resolves.toMatchObject({ matches: false });
  });

  it('verifies passwords in NFKC, so equivalent spellings match', async () => {
    const stored = await hasher.hash('Caf\u00e9 \ufb01lter');
    await expect(hasher.verify(stored, 'Cafe\u0301 filter')).resolves.toMatchObject({ matches: true });
  });

  it('reports hashes with other parameters as outdated', async () => {
    const weaker = await hash(PASSWORD, { memoryCost: 8_192, timeCost: 1, parallelism: 1 });
    await expect(hasher.verify(weaker, PASSWORD)).resolves.toEqual({ matches: true, isOutdated: true });
  });

  it('verifies a dummy hash when there is no account or no password, and matches nothing', async () => {
    await expect(hasher.verify(null, PASSWORD)).resolves.toEqual({ matches: false, isOutdated: false });
    await expect(hasher.verify('none', PASSWORD)).resolves.toEqual({ matches: false, isOutdated: false });
  });

  it('runs at most two hashes at once, queues 32 and refuses the rest with rate_limited and Retry-After', async () => {
    const taken = HASHES_AT_ONCE + MAX_WAITING_HASHES;
    expect([33, 34]).toContain(taken);
    const runs = await Promise.allSettled(Array.from({ length: taken + 6 }, () => hasher.verify(null, PASSWORD)));
    const refused = runs.flatMap((run) => (run.status === 'rejected' ? [run.reason] : []));
    expect(refused).toHaveLength(6);
    expect(refused[0]).toMatchObject({ code: 'rate_limited', retryAfterSeconds: 1 });
    await expect(hasher.verify(null, PASSWORD)).resolves.toMatchObject({ matches: false });
  });
});
