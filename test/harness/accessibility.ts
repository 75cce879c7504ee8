import { source as axeSource } from 'axe-core';
import type { Page } from 'playwright-core';

/** The rules of axe that depend on colours. Only these can differ between the themes. */
export const COLOR_RULES = ['color-contrast', 'link-in-text-block'] as const;

/**
 * What axe finds wrong with the page as it is now: one line per rule with the elements.
 * @param rules by default all that axe enables
 */
export async function accessibilityProblems(page: Page, rules?: readonly string[]): Promise<readonly string[]> {
  // Its 500 kB are parsed once per document.
  if (!(await page.evaluate<boolean>('"axe" in window'))) await page.evaluate(axeSource);
  // For other results than violations, axe then describes one element and not all.
  const options = JSON.stringify({ resultTypes: ['violations'], ...(rules && { runOnly: rules }) });
  return page.evaluate(
    `axe.run(${options}).then(({ violations }) => violations.map(({ id, nodes }) => id + ": " + nodes.map(({ html }) => html).join(" ")))`,
  );
}

/** Whether nothing but tables and code in their own regions scrolls sideways. */
export function fitsItsWidth(page: Page): Promise<boolean> {
  return page.evaluate('document.documentElement.scrollWidth <= document.documentElement.clientWidth');
}
