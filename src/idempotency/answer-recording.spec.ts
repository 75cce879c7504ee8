import { AnswerRecording, type RecordingBudget } from './answer-recording';

const budgetOf = (maxBytes: number): RecordingBudget => ({ bytes: 0, maxBytes });

describe('AnswerRecording', () => {
  it('gives back what was added, and its share of the budget', () => {
    const budget = budgetOf(100);
    const recording = new AnswerRecording(100, budget);
    recording.add('é');
    recording.add(Buffer.from('xyz'));
    expect(budget.bytes).toBe(5);
    expect(recording.take()?.toString()).toBe('éxyz');
    expect(budget.bytes).toBe(0);
  });

  it('is given up as soon as it is too long, and its share with it', () => {
    const budget = budgetOf(100);
    const recording = new AnswerRecording(4, budget);
    recording.add('1234');
    expect(recording.overflowed).toBe(false);
    recording.add('5');
    expect(recording.overflowed).toBe(true);
    recording.add('6');
    expect(budget.bytes).toBe(0);
    expect(recording.take()).toBeNull();
    expect(budget.bytes).toBe(0);
  });

  it('is given up when all recordings of the process together are too long; the others go on', () => {
    const budget = budgetOf(10);
    const [first, second] = [new AnswerRecording(100, budget), new AnswerRecording(100, budget)];
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
