import type { Locator, Page } from 'playwright-core';
import { accessibilityProblems, clippedContent, fitsItsWidth } from '../harness/accessibility';
import type { DashboardClient } from '../harness/dashboard-client';

/** What axe finds and what is cut off in the JSON dialog, in both themes, on a wide and on a narrow screen. */
export async function problemsOfJsonDialog(page: Page, answer: Locator): Promise<readonly string[]> {
  const before = page.viewportSize() ?? { width: 1280, height: 800 };
  await answer.getByRole('button', { name: 'JSON', exact: true }).click();
  await page.getByRole('region', { name: 'reply JSON' }).waitFor();
  const problems: string[] = [];
  for (const size of [before, { width: 320, height: 640 }]) {
    await page.setViewportSize(size);
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      problems.push(...(await accessibilityProblems(page)), ...(await clippedContent(page)));
    }
    if (!(await fitsItsWidth(page))) problems.push(`scrolls sideways at ${size.width} px`);
  }
  await page.keyboard.press('Escape');
  await page.emulateMedia({ colorScheme: null });
  await page.setViewportSize(before);
  return problems;
}

/** The request and the reply that the JSON button of an answer shows. */
export async function jsonOf(page: Page, answer: Locator): Promise<readonly [string, string]> {
  await answer.getByRole('button', { name: 'JSON', exact: true }).click();
  const dialog = page.getByRole('dialog', { name: 'Request and reply as JSON' });
  const texts = await Promise.all(
    ['request JSON', 'reply JSON'].map((name) => dialog.getByRole('region', { name }).innerText()),
  );
  await dialog.getByRole('button', { name: 'Close' }).click();
  return [texts[0] ?? '', texts[1] ?? ''];
}

/** The request of the answer's receipt. */
export async function receiptOf(
  developer: DashboardClient,
  answer: Locator,
): Promise<{ cost_micro: number; model: string; attempts: readonly object[] }> {
  const href = (await answer.getByRole('link', { name: 'Receipt' }).getAttribute('href')) ?? '';
  const { status, json } = await developer.call(developer.path(`/usage/requests/${href.split('/').at(-1)}`));
  expect(status).toBe(200);
  return json;
}

/** Waits for the cost of the receipt in the answer. */
export async function expectCostOfReceipt(developer: DashboardClient, answer: Locator): Promise<number> {
  const { cost_micro: cost } = await receiptOf(developer, answer);
  expect(cost).toBeGreaterThan(0);
  await answer.getByTitle(`${cost} micro-dollars`, { exact: true }).waitFor();
  return cost;
}

/** Waits until the answer has been seen in more than `count` lengths. */
export async function untilGrown(answer: Locator, count: number): Promise<void> {
  const lengths = new Set<number>();
  while (lengths.size <= count) lengths.add(((await answer.textContent()) ?? '').length);
}
