import { GatewayError } from '../core/errors/gateway-error';
import { type SubmissionResponse, SubmissionsUnderWay } from './submissions-under-way';

const ANSWER: SubmissionResponse = { status: 202, headers: { a: 'b' }, body: Buffer.from('{}'), isReplayed: false };
const claimOf = (key: string, fingerprint = 'one') => ({
  operation: 'createVideo',
  key,
  fingerprint,
  atMostOnce: false,
});

describe('concurrent submissions with one idempotency key', () => {
  let submissions: SubmissionsUnderWay;
  let submitted: number;
  beforeEach(() => {
    submissions = new SubmissionsUnderWay();
    submitted = 0;
  });
  const submit = (claim = claimOf('k'), organizationId = 'o', end: () => SubmissionResponse = () => ANSWER) =>
    submissions.submitOnce(organizationId, claim, async () => {
      submitted++;
      await Promise.resolve();
      return end();
    });

  it('submit once and share the response', async () => {
    const answers = await Promise.all([submit(), submit(), submit()]);
    expect(answers).toEqual([ANSWER, { ...ANSWER, isReplayed: true }, { ...ANSWER, isReplayed: true }]);
    expect(submitted).toBe(1);
  });

  it('return idempotency_conflict for another body', async () => {
    const [first, second] = await Promise.allSettled([submit(), submit(claimOf('k', 'two'))]);
    expect([first.status, second]).toMatchObject(['fulfilled', { reason: { code: 'idempotency_conflict' } }]);
    expect(submitted).toBe(1);
  });

  it('submit independently when the first is refused', async () => {
    const refuse = (): never => {
      throw new GatewayError('budget_exceeded', 'Over budget.');
    };
    const ends = await Promise.allSettled([
      submit(undefined, undefined, refuse),
      submit(),
      submit(claimOf('k', 'two')),
    ]);
    expect(ends).toMatchObject([
      { reason: { code: 'budget_exceeded' } },
      { value: { isReplayed: false } },
      { value: { isReplayed: false } },
    ]);
  });

  it('do not affect other keys, other organizations or later submissions', async () => {
    await Promise.all([submit(), submit(claimOf('l')), submit(undefined, 'p')]);
    await submit();
    expect(submitted).toBe(4);
  });
});
