import type { IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import { finished } from 'node:stream/promises';
import type { MultipartForm } from '../common/multipart-form';
import { BodyBudget } from './body-budget';
import { FormParser } from './form-parser';
import { readForm } from './form-reader';

const KIB = 1_024;
const END = '\r\n--b--';
const HEAD = '--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n';
/** A form of so many bytes. */
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
  it('is read into one piece of memory, and claims no more than it said', async () => {
    const body = formOf(300 * KIB);
    const { budget, outcomes, send } = setUp({ length: body.length });
    await send(...cut(body, 1_000));
    expect(outcomes).toEqual([{ error: null, form: expect.anything() }]);
    expect(outcomes[0]?.form?.files[0]?.bytes.buffer.byteLength).toBe(body.length);
    expect(budget.usedBytes).toBe(body.length);
  });
});

describe('a form of unknown length', () => {
  it('claims what it has been given, at most twice what has arrived', async () => {
    const body = formOf(300 * KIB);
    const { budget, outcomes, send } = setUp();
    await send(...cut(body, 1_000));
    expect(outcomes[0]?.error).toBeNull();
    expect(budget.usedBytes).toBe(512 * KIB);
  });

  it('is turned away where there is no room for it', async () => {
    const { outcomes, send } = setUp({ budgetBytes: 256 * KIB });
    await send(...cut(formOf(300 * KIB), 1_000));
    expect(outcomes).toEqual([{ error: expect.objectContaining({ code: 'service_unavailable' }), form: undefined }]);
  });

  it('claims nothing for what follows its end, which is not kept', async () => {
    const { budget, outcomes, send } = setUp();
    await send(...cut(Buffer.concat([formOf(10 * KIB), Buffer.alloc(500 * KIB)]), 1_000));
    expect([outcomes[0]?.error, budget.usedBytes]).toEqual([null, 64 * KIB]);
  });

  it('may have as many bytes as are allowed, and not one more, wherever they are', async () => {
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
  it('is refused once, and what comes after that is not kept', async () => {
    const { outcomes, payload, send } = setUp();
    await send(Buffer.from('--c--\r\n'.padEnd(2_000)), ...cut(formOf(300 * KIB), 1_000));
    expect(outcomes).toEqual([{ error: expect.objectContaining({ code: 'validation_failed' }), form: undefined }]);
    expect(payload.listenerCount('data')).toBe(0);
  });

  it('as its connection breaks ends with that', async () => {
    const { outcomes, payload } = setUp();
    payload.write(HEAD);
    payload.destroy(new Error('gone'));
    await finished(payload).catch(() => undefined);
    expect(outcomes).toEqual([{ error: new Error('gone'), form: undefined }]);
  });

  it('for it has no bytes is refused', async () => {
    const { outcomes, send } = setUp();
    await send();
    expect(outcomes).toEqual([{ error: expect.objectContaining({ code: 'validation_failed' }), form: undefined }]);
  });
});
