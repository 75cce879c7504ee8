import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import type { ReportCall, SignedReport } from '../../contract/media-job';
import { FalSignatures } from './fal-signature';

const START_MS = Date.parse('2026-11-26T12:00:00Z');
const HOUR_MS = 3_600_000;
/** After a failed fetch of the keys. */
const PAUSE_MS = 10_000;
const BODY = Buffer.from('{"request_id":"r-1","status":"OK"}');

interface SigningKey {
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}
const keyPair = (): SigningKey => generateKeyPairSync('ed25519');
const [first, second] = [keyPair(), keyPair()];

let nowMs: number;
/** The keys that fal's URL returns; `null`: it is down. */
let published: readonly SigningKey[] | null;
let fetched: string[];
let signatures: FalSignatures;
beforeEach(() => {
  nowMs = START_MS;
  published = [first];
  fetched = [];
  signatures = new FalSignatures({ now: () => nowMs, monotonic: () => nowMs });
});

const call: ReportCall = {
  deadlines: { connectMs: 1_000, firstTokenMs: 1_000, idleMs: 1_000, totalMs: 1_000 },
  signal: new AbortController().signal,
  fetchPublic: (url) => {
    fetched.push(url);
    if (published === null) return Promise.reject(new Error('down'));
    const keys = [{ kty: 'RSA' }, ...published.map(({ publicKey }) => publicKey.export({ format: 'jwk' }))];
    return Promise.resolve(Buffer.from(JSON.stringify({ keys })));
  },
};

/** A report as fal sends it. */
function signed(key = first, sentMs = nowMs, body = BODY): SignedReport {
  const timestamp = String(Math.floor(sentMs / 1_000));
  const digest = createHash('sha256').update(body).digest('hex');
  const message = Buffer.from(`r-1\nu-1\n${timestamp}\n${digest}`);
  const headers = {
    'x-fal-webhook-request-id': 'r-1',
    'x-fal-webhook-user-id': 'u-1',
    'x-fal-webhook-timestamp': timestamp,
    'x-fal-webhook-signature': sign(null, message, key.privateKey).toString('hex'),
  };
  return { headers, body };
}

const verify = (report: SignedReport) => signatures.verify(report, call);

describe('the signature of a report of fal', () => {
  it('is valid for what fal signed, with keys that are fetched once a day', async () => {
    expect([await verify(signed()), await verify(signed())]).toEqual([true, true]);
    expect(fetched).toEqual(['https://rest.fal.ai/.well-known/jwks.json']);
    nowMs += 24 * HOUR_MS;
    expect(await verify(signed())).toBe(true);
    expect(fetched).toHaveLength(2);
  });

  it.each(['request-id', 'user-id', 'timestamp', 'signature'])(
    'is invalid without, or with another, %s',
    async (name) => {
      const { headers, body } = signed();
      const header = `x-fal-webhook-${name}` as keyof typeof headers;
      const altered = String(headers[header]).replace(/.$/, (last) => (last === '1' ? '2' : '1'));
      for (const value of [undefined, '', altered, [altered, altered]]) {
        expect(await verify({ headers: { ...headers, [header]: value }, body })).toBe(false);
      }
    },
  );

  it('is invalid for an altered body', async () => {
    expect(await verify({ ...signed(), body: Buffer.from(`${BODY.toString()} `) })).toBe(false);
  });

  it('is invalid more than five minutes before or after it was made', async () => {
    const ages = [-301_000, -300_000, 300_000, 301_000];
    const verdicts = await Promise.all(ages.map((ms) => verify(signed(first, START_MS + ms))));
    expect(verdicts).toEqual([false, true, true, false]);
  });

  it('is invalid with an unknown key, for which the keys are fetched at most once a minute', async () => {
    expect([await verify(signed(second)), await verify(signed(second))]).toEqual([false, false]);
    expect(fetched).toHaveLength(1);
    nowMs += 60_000;
    expect(await verify(signed(second))).toBe(false);
    expect(fetched).toHaveLength(2);
  });

  it('is valid with a new key, and no longer with the one that it replaced', async () => {
    await verify(signed());
    published = [second];
    nowMs += HOUR_MS;
    expect(await verify(signed(second))).toBe(true);
    expect(await verify(signed(first))).toBe(false);
  });

  it('cannot be verified without keys, and can when they are back', async () => {
    published = null;
    await expect(verify(signed())).rejects.toThrow('down');
    published = [];
    nowMs += PAUSE_MS;
    await expect(verify(signed())).rejects.toThrow('no key');
    published = [first];
    nowMs += PAUSE_MS;
    expect(await verify(signed())).toBe(true);
  });

  it('fails without another fetch for ten seconds after a fetch that failed', async () => {
    published = null;
    await expect(verify(signed())).rejects.toThrow('down');
    published = [first];
    nowMs += PAUSE_MS - 1;
    await expect(verify(signed())).rejects.toThrow('down');
    expect(fetched).toHaveLength(1);
    nowMs += 1;
    expect(await verify(signed())).toBe(true);
    expect(fetched).toHaveLength(2);
  });

  it('is verified with known keys during such a pause, and with new keys right after it', async () => {
    await verify(signed());
    published = null;
    nowMs += HOUR_MS;
    await expect(verify(signed(second))).rejects.toThrow('down');
    published = [second];
    expect(await verify(signed(first))).toBe(true);
    await expect(verify(signed(second))).rejects.toThrow('down');
    expect(fetched).toHaveLength(2);
    nowMs += PAUSE_MS;
    expect(await verify(signed(second))).toBe(true);
  });

  it('is verified with known keys while they cannot be fetched, for a day', async () => {
    await verify(signed());
    published = null;
    nowMs += 24 * HOUR_MS - 1;
    expect(await verify(signed())).toBe(true);
    nowMs += 1;
    await expect(verify(signed())).rejects.toThrow('down');
  });

  it('shares one fetch among reports that arrive together', async () => {
    expect(await Promise.all([verify(signed()), verify(signed()), verify(signed())])).toEqual([true, true, true]);
    expect(fetched).toHaveLength(1);
  });
});
