import { BodyBudget } from './body-budget';

const KIB = 1_024;
const [ONE, OTHER] = ['one', 'other'];

describe('BodyBudget', () => {
  it('is full when it is full, and has room again as soon as something is released', () => {
    const budget = new BodyBudget(100);
    const first = budget.claim(60, ONE);
    expect(budget.claim(40, OTHER)).toBeDefined();
    expect(() => budget.claim(1, OTHER)).toThrow(
      expect.objectContaining({ code: 'service_unavailable', retryAfterSeconds: 1 }),
    );
    expect(budget.usedBytes).toBe(100);
    first.release();
    expect(budget.claim(60, ONE)).toBeDefined();
  });

  it('releases a claim once, with all that it has grown to', () => {
    const budget = new BodyBudget(100);
    const claim = budget.claim(10, ONE);
    claim.growTo(50);
    claim.growTo(20);
    expect(budget.usedBytes).toBe(50);
    claim.release();
    claim.release();
    claim.growTo(90);
    expect(budget.usedBytes).toBe(0);
  });

  it('does not change a claim that cannot grow', () => {
    const budget = new BodyBudget(100);
    const claim = budget.claim(10, ONE);
    expect(() => claim.growTo(101)).toThrow(expect.objectContaining({ code: 'service_unavailable' }));
    claim.release();
    expect(budget.usedBytes).toBe(0);
  });

  it('keeps an eighth for small bodies, whether a large one is announced or grows', () => {
    const budget = new BodyBudget(800 * KIB);
    budget.claim(500 * KIB - 1, ONE);
    budget.claim(200 * KIB, OTHER);
    expect(() => budget.claim(65 * KIB, ONE)).toThrow('too much');
    const growing = budget.claim(64 * KIB, ONE);
    expect(() => growing.growTo(65 * KIB)).toThrow('too much');
    expect(budget.claim(36 * KIB, OTHER)).toBeDefined();
    expect(() => budget.claim(2, OTHER)).toThrow('too much');
  });

  it('leaves a quarter to others, however many bodies one organization announces or sends', () => {
    const budget = new BodyBudget(800);
    const [first, growing, idle] = [budget.claim(500, ONE), budget.claim(0, ONE), budget.claim(0, ONE)];
    growing.growTo(100);
    expect(() => budget.claim(1, ONE)).toThrow('too much');
    expect(() => growing.growTo(101)).toThrow('too much');
    expect(() => idle.growTo(1)).toThrow('too much');
    expect(budget.claim(200, OTHER)).toBeDefined();
    first.release();
    expect(budget.claim(500, ONE)).toBeDefined();
  });

  it('counts an organization for as long as it has a claim, and from nothing after its last', () => {
    const budget = new BodyBudget(800);
    for (let turn = 0; turn < 3; turn++) {
      const [one, two] = [budget.claim(0, ONE), budget.claim(300, ONE)];
      two.release();
      one.growTo(600);
      expect(() => budget.claim(1, ONE)).toThrow('too much');
      one.release();
    }
    expect(budget.usedBytes).toBe(0);
  });
});
