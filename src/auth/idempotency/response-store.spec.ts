import { ResponseRecording, type RecordingBudget } from './response-store';

const budgetOf = (maxBytes: number): RecordingBudget => ({ bytes: 0, maxBytes });

describe('ResponseRecording', () => {
  it('returns the recorded bytes, and frees its share of the budget on release', () => {
    const budget = budgetOf(100);
    const recording = new ResponseRecording(100, budget);
    recording.add('é');
    recording.add(Buffer.from('xyz'));
    expect(budget.bytes).toBe(5);
    const { whole, release } = recording.take();
    expect(whole?.toString()).toBe('éxyz');
    recording.discard();
    expect(budget.bytes).toBe(5);
    release();
    expect(budget.bytes).toBe(0);
  });

  it('is dropped once it exceeds the limit, and frees its share', () => {
    const budget = budgetOf(100);
    const recording = new ResponseRecording(4, budget);
    recording.add('1234');
    expect(recording.overflowed).toBe(false);
    recording.add('5');
    expect(recording.overflowed).toBe(true);
    recording.add('6');
    expect(budget.bytes).toBe(0);
    expect(recording.take().whole).toBeNull();
    expect(budget.bytes).toBe(0);
  });

  it('is dropped when all recordings together exceed the budget; the others continue', () => {
    const budget = budgetOf(10);
    const [first, second] = [new ResponseRecording(100, budget), new ResponseRecording(100, budget)];
    first.add('123456');
    second.add('12345');
    expect(second.overflowed).toBe(true);
    first.add('7890');
    expect(first.overflowed).toBe(false);
    first.discard();
    first.discard();
    expect(budget.bytes).toBe(0);
  });
});
