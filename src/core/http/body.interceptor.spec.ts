import { BodyBudget } from './body.interceptor';

const KIB = 1_024;
const [ONE, OTHER] = ['one', 'other'];

describe('BodyBudget', () => {
  it('refuses claims above the budget, and admits them after a release', () => {
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

  it('releases a claim once, including its growth', () => {
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

  it('leaves a claim unchanged when it cannot grow', () => {
    const budget = new BodyBudget(100);
    const other = budget.claim(60, OTHER);
    const claim = budget.claim(10, ONE);
    expect(() => claim.growTo(41)).toThrow(expect.objectContaining({ code: 'service_unavailable' }));
    expect(budget.usedBytes).toBe(70);
    other.release();
    claim.growTo(75);
    expect(() => claim.growTo(76)).toThrow(expect.objectContaining({ code: 'validation_failed' }));
    claim.release();
    expect(budget.usedBytes).toBe(0);
  });

  it('counts copies of a body up to the limit of one request', () => {
    const budget = new BodyBudget(800);
    const claim = budget.claim(100, ONE);
    claim.growWithCopies(200, 100);
    expect(budget.usedBytes).toBe(300);
    claim.growWithCopies(500, 500);
    expect(budget.usedBytes).toBe(525);
    expect(() => claim.growWithCopies(601, 0)).toThrow(expect.objectContaining({ code: 'validation_failed' }));
  });

  it('reserves an eighth for small bodies, against announced and growing bodies', () => {
    const budget = new BodyBudget(800 * KIB);
    budget.claim(500 * KIB - 1, ONE);
    budget.claim(200 * KIB, OTHER);
    expect(() => budget.claim(65 * KIB, ONE)).toThrow('too much');
    const growing = budget.claim(64 * KIB, ONE);
    expect(() => growing.growTo(65 * KIB)).toThrow('too much');
    expect(budget.claim(36 * KIB, OTHER)).toBeDefined();
    expect(() => budget.claim(2, OTHER)).toThrow('too much');
  });

  it('limits one organization to three quarters, for announced and growing bodies', () => {
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

  it('tracks an organization while it has claims, and resets after its last', () => {
    const budget = new BodyBudget(800);
    for (let round = 0; round < 3; round++) {
      const [one, two] = [budget.claim(0, ONE), budget.claim(300, ONE)];
      two.release();
      one.growTo(600);
      expect(() => budget.claim(1, ONE)).toThrow('too much');
      one.release();
    }
    expect(budget.usedBytes).toBe(0);
  });
});
