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

/** More stops than any page has. */
const MOST_STOPS = 2000;

/**
 * Visible controls that the Tab key does not reach, and elements that only a pointer can use, one line each. The radio
 * buttons of a group are one stop.
 */
export async function unreachableByKeyboard(page: Page): Promise<readonly string[]> {
  await page.evaluate(`(() => {
    document.activeElement?.blur();
    getSelection()?.removeAllRanges();
    window.reached = new Set();
    window.isRoundDone = false;
    document.addEventListener('focusin', ({ target }) => {
      if (window.reached.has(target) && target === window.reached.values().next().value) window.isRoundDone = true;
      window.reached.add(target);
    });
  })()`);
  for (let stops = 0; stops < MOST_STOPS && !(await page.evaluate<boolean>('window.isRoundDone')); stops += 10) {
    for (let presses = 0; presses < 10; presses++) await page.keyboard.press('Tab');
  }
  return page.evaluate(`(() => {
    const reached = [...window.reached];
    const isShown = (element) => element.checkVisibility({ visibilityProperty: true }) && element.getClientRects().length > 0;
    const isReached = (element) =>
      reached.includes(element) || (element.type === 'radio' && reached.some(({ name, type }) => type === 'radio' && name === element.name));
    const controls = 'a[href], button, input, select, textarea, summary, audio[controls], video[controls], [tabindex="0"]';
    const problems = [...document.querySelectorAll(controls)]
      .filter((element) => isShown(element) && !element.disabled && element.closest('[aria-hidden=true]') === null && !isReached(element))
      .map((element) => 'the keyboard does not reach ' + element.outerHTML.slice(0, 160));
    const pointed = [...document.querySelectorAll('main *')]
      .filter((element) => isShown(element) && getComputedStyle(element).cursor === 'pointer')
      .filter((element) => element.closest(controls + ', label, [role=menuitem], [role=option]') === null)
      // The links of the table of a chart lead where its columns do.
      .filter((element) => element.querySelector(controls) === null)
      .map((element) => 'only a pointer can use ' + element.outerHTML.slice(0, 160));
    return [...problems, ...pointed];
  })()`);
}

/** Whether nothing but tables and code in their own regions scrolls sideways. */
export function fitsItsWidth(page: Page): Promise<boolean> {
  return page.evaluate('document.documentElement.scrollWidth <= document.documentElement.clientWidth');
}

/** The names of the tables that are wider than their regions. */
export function tablesThatScroll(page: Page): Promise<readonly string[]> {
  return page.evaluate(`[...document.querySelectorAll('[role=region]:has(> table)')]
    .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)
    .map((region) => region.getAttribute('aria-label'))`);
}

/**
 * Visible text and controls that a user cannot reach, one line each: beyond the edge of the page, or cut off by an
 * element that does not scroll. What an ellipsis shortens is complete elsewhere, and what is for screen readers only is
 * no content here.
 */
export function clippedContent(page: Page): Promise<readonly string[]> {
  return page.evaluate(`(() => {
    const width = document.documentElement.clientWidth;
    const styleOf = (element) => getComputedStyle(element);
    const chainOf = (element) => element === null ? [] : [element, ...chainOf(element.parentElement)];
    const scrolls = ({ overflowX }) => overflowX === 'auto' || overflowX === 'scroll';
    const cuts = (overflow) => overflow === 'hidden' || overflow === 'clip';
    const isHidden = (element) => !element.checkVisibility({ visibilityProperty: true, opacityProperty: true });
    const hasText = (element) => [...element.childNodes].some(({ nodeType, data }) => nodeType === 3 && data.trim() !== '');
    const problems = [];
    for (const element of document.querySelectorAll('body *')) {
      if (!(element instanceof HTMLElement) || isHidden(element)) continue;
      if (!hasText(element) && !element.matches('a, button, input, select, textarea')) continue;
      const chain = chainOf(element);
      if (chain.some((each) => each.clientWidth === 1 || styleOf(each).clipPath !== 'none')) continue;
      const box = element.getBoundingClientRect();
      if (box.width <= 1 || box.height <= 1) continue;
      const name = element.outerHTML.slice(0, 160);
      if ((box.right > width + 1 || box.left < -1) && !chain.some((each) => scrolls(styleOf(each)))) problems.push('beyond the edge: ' + name);
      for (const each of chain) {
        const style = styleOf(each);
        if (scrolls(style)) break;
        if (style.textOverflow === 'ellipsis' || style.webkitLineClamp !== 'none') break;
        const frame = each.getBoundingClientRect();
        const isCut =
          (cuts(style.overflowX) && (box.right > frame.right + 1 || box.left < frame.left - 1)) ||
          (cuts(style.overflowY) && (box.bottom > frame.bottom + 1 || box.top < frame.top - 1));
        if (isCut) {
          problems.push('cut off: ' + name);
          break;
        }
      }
    }
    return problems;
  })()`);
}
