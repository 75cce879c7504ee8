import { renderToStaticMarkup } from 'react-dom/server';
import { BudgetCell } from './budget-cell';

const textOf = (heldMicro: number, limitMicro: number | null): string =>
  renderToStaticMarkup(
    <BudgetCell label="Spending today" spentMicro={1_000_000} heldMicro={heldMicro} limitMicro={limitMicro} />,
  );

describe('the spending of a key in a table', () => {
  it.each([null, 5_000_000])('says how much of it is only held, with the budget %s', (limitMicro) => {
    expect(textOf(500_000, limitMicro)).toContain('$0.50 of it held');
    expect(textOf(0, limitMicro)).not.toContain('held');
  });
});
