import { source as axeSource } from 'axe-core';
import type { Page } from 'playwright-core';

/** What axe finds wrong with the page as it is now: one line per rule with the elements. */
export async function accessibilityProblems(page: Page): Promise<readonly string[]> {
  await page.evaluate(axeSource);
  return page.evaluate(
    'axe.run().then(({ violations }) => violations.map(({ id, nodes }) => id + ": " + nodes.map(({ html }) => html).join(" ")))',
  );
}

/** Whether nothing but tables and code in their own regions scrolls sideways. */
export function fitsItsWidth(page: Page): Promise<boolean> {
  return page.evaluate('document.documentElement.scrollWidth <= document.documentElement.clientWidth');
}
