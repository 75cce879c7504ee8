import { hash } from '@node-rs/argon2';
import { ARGON2_PARAMETERS, HASHES_AT_ONCE, MAX_WAITING_HASHES, PasswordHasher } from './password-hasher';

const PASSWORD = 'a password of this test';

describe('the password hasher', () => {
  const hasher = new PasswordHasher();

  it('makes Argon2id hashes with the parameters in use, each with a salt of its own', async () => {
    const [first, second] = await Promise.all([hasher.hash(PASSWORD), hasher.hash(PASSWORD)]);
    const { memoryCost, timeCost, parallelism } = ARGON2_PARAMETERS;
    expect(first).toMatch(new RegExp(`^\\$argon2id\\$v=19\\$m=${memoryCost},t=${timeCost},p=${parallelism}\\$`));
    expect(first).not.toBe(second);
    await expect(hasher.verify(first, PASSWORD)).resolves.toEqual({ matches: true, isOutdated: false });
    await expect(hasher.verify(first, 'another password')).resolves.toMatchObject({ matches: false });
  });

  it('takes different spellings of the same letters for the same', async () => {
    const stored = await hasher.hash('Caf\u00e9 \ufb01lter');
    await expect(hasher.verify(stored, 'Cafe\u0301 filter')).resolves.toMatchObject({ matches: true });
  });

  it('tells hashes that were made with other parameters', async () => {
    const weaker = await hash(PASSWORD, { memoryCost: 8_192, timeCost: 1, parallelism: 1 });
    await expect(hasher.verify(weaker, PASSWORD)).resolves.toEqual({ matches: true, isOutdated: true });
  });

  it('matches nothing where there is no account or no password, and verifies all the same', async () => {
    await expect(hasher.verify(null, PASSWORD)).resolves.toEqual({ matches: false, isOutdated: false });
    await expect(hasher.verify('none', PASSWORD)).resolves.toEqual({ matches: false, isOutdated: false });
  });

  it('works on two at once at most, lets 32 wait, and tells the others when to come back', async () => {
    const taken = HASHES_AT_ONCE + MAX_WAITING_HASHES;
    expect([33, 34]).toContain(taken);
    const runs = await Promise.allSettled(Array.from({ length: taken + 6 }, () => hasher.verify(null, PASSWORD)));
    const refused = runs.flatMap((run) => (run.status === 'rejected' ? [run.reason] : []));
    expect(refused).toHaveLength(6);
    expect(refused[0]).toMatchObject({ code: 'rate_limited', retryAfterSeconds: 1 });
    await expect(hasher.verify(null, PASSWORD)).resolves.toMatchObject({ matches: false });
  });
});
