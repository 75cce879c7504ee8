import type { IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import { finished } from 'node:stream/promises';
import type { MultipartForm } from '../types/multipart-form';
import { BodyBudget } from './body.interceptor';
import { FormParser } from './form-parser';
import { readForm } from './form-reader';

const KIB = 1_024;
const END = '\r\n--b--';
const HEAD = '--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n';
/** A form of the given length. */
const formOf = (bytes: number): Buffer => Buffer.from(HEAD + 'x'.repeat(bytes - HEAD.length - END.length) + END);

interface Outcome {
  readonly error: (Error & { code?: string }) | null;
  readonly form: MultipartForm | undefined;
}

function setUp({ limitBytes = 1_024 * KIB, budgetBytes = 1_024 * KIB, length }: Record<string, number> = {}) {
  const budget = new BodyBudget(budgetBytes ?? 0);
  const headers = length === undefined ? {} : { 'content-length': String(length) };
  const payload = Object.assign(new PassThrough(), { headers });
  const claim = budget.claim(length ?? 0, 'organization');
  const outcomes: Outcome[] = [];
  const parser = new FormParser('b', { files: { file: 1 } });
  readForm(payload as unknown as IncomingMessage, limitBytes ?? 0, claim, parser, (error, form) =>
    outcomes.push({ error, form }),
  );
  const send = async (...chunks: Buffer[]): Promise<void> => {
    for (const chunk of chunks) payload.write(chunk);
    payload.end();
    await finished(payload.resume()).catch(() => undefined);
  };
  return { budget, payload, outcomes, send };
}

const cut = (body: Buffer, size: number): Buffer[] =>
  Array.from({ length: Math.ceil(body.length / size) }, (_, index) => body.subarray(index * size, (index + 1) * size));

describe('a form of a known length', () => {
  it('is read into one buffer, and claims no more than its Content-Length', async () => {
    const body = formOf(300 * KIB);
    const { budget, outcomes, send } = setUp({ length: body.length });
    await send(...cut(body, 1_000));
    expect(outcomes).toEqual([{ error: null, form: expect.anything() }]);
    expect(outcomes[0]?.form?.files[0]?.bytes.buffer.byteLength).toBe(body.length);
    expect(budget.usedBytes).toBe(body.length);
  });
});

describe('a form of unknown length', () => {
  it('claims its buffer, at most twice the received bytes', async () => {
    const body = formOf(300 * KIB);
    const { budget, outcomes, send } = setUp();
    await send(...cut(body, 1_000));
    expect(outcomes[0]?.error).toBeNull();
    expect(budget.usedBytes).toBe(512 * KIB);
  });

  it('is refused when the budget is full', async () => {
    const { budget, outcomes, send } = setUp();
    budget.claim(500 * KIB, 'another organization');
    await send(...cut(formOf(300 * KIB), 1_000));
    expect(outcomes).toEqual([{ error: expect.objectContaining({ code: 'service_unavailable' }), form: undefined }]);
  });

  it('discards the epilogue without a claim', async () => {
    const { budget, outcomes, send } = setUp();
    await send(...cut(Buffer.concat([formOf(10 * KIB), Buffer.alloc(500 * KIB)]), 1_000));
    expect([outcomes[0]?.error, budget.usedBytes]).toEqual([null, 64 * KIB]);
  });

  it('accepts the maximum length, and not one byte more in any position', async () => {
    const limitBytes = 100 * KIB;
    for (const tail of ['', 'x'.repeat(50 * KIB)]) {
      const good = setUp({ limitBytes });
      const largest = formOf(limitBytes - tail.length);
      await good.send(...cut(Buffer.concat([largest, Buffer.from(tail)]), 1_000));
      expect(good.outcomes[0]?.error).toBeNull();
      const bad = setUp({ limitBytes });
      await bad.send(...cut(Buffer.concat([largest, Buffer.from(`${tail}x`)]), 1_000));
      expect(bad.outcomes).toEqual([
        { error: expect.objectContaining({ code: 'request_too_large' }), form: undefined },
      ]);
    }
  });
});

describe('a form that cannot be read', () => {
  it('is refused once, and later bytes are discarded', async () => {
    const { outcomes, payload, send } = setUp();
    await send(Buffer.from('--c--\r\n'.padEnd(2_000)), ...cut(formOf(300 * KIB), 1_000));
    expect(outcomes).toEqual([{ error: expect.objectContaining({ code: 'validation_failed' }), form: undefined }]);
    expect(payload.listenerCount('data')).toBe(0);
  });

  it('fails with the connection error', async () => {
    const { outcomes, payload } = setUp();
    payload.write(HEAD);
    payload.destroy(new Error('gone'));
    await finished(payload).catch(() => undefined);
    expect(outcomes).toEqual([{ error: new Error('gone'), form: undefined }]);
  });

  it('is refused when it is empty', async () => {
    const { outcomes, send } = setUp();
    await send();
    expect(outcomes).toEqual([{ error: expect.objectContaining({ code: 'validation_failed' }), form: undefined }]);
  });
});
