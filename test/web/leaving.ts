import type { Dialog, Page } from 'playwright-core';

/** Goes back in the history, and waits until the page had the time to change. */
export function goBackInPage(page: Page): Promise<unknown> {
  return page.evaluate(() => {
    const left = new Promise((resolve) => {
      addEventListener('popstate', () => requestAnimationFrame(() => requestAnimationFrame(resolve)), { once: true });
    });
    history.back();
    return left;
  });
}

/** Reloads the page. @returns whether the browser asked first; then the page stays */
export async function reloadIsAsked(page: Page): Promise<boolean> {
  let [ask, load]: [(dialog: Dialog) => void, () => void] = [() => undefined, () => undefined];
  const asked = new Promise<boolean>((resolve, reject) => {
    ask = (dialog) => void dialog.dismiss().then(() => resolve(true), reject);
    load = () => resolve(false);
  });
  page.on('dialog', ask);
  page.on('load', load);
  await page.evaluate(() => void setTimeout(() => location.reload()));
  return asked.finally(() => page.off('dialog', ask).off('load', load));
}
