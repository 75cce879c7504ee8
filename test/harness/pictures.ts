import type { BrowserUser } from './browser';

/** Keeps pictures of the page as it is now: light, dark, and on a narrow screen. */
export async function pictures(user: BrowserUser, name: string): Promise<void> {
  if (process.env.WEB_PICTURES === undefined) return;
  const { page } = user;
  const size = page.viewportSize();
  await user.picture(name);
  await page.emulateMedia({ colorScheme: 'dark', reducedMotion: 'reduce' });
  // Links take the other colours one frame later.
  await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
  await user.picture(`${name}-dark`);
  await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' });
  await page.setViewportSize({ width: 400, height: 800 });
  await user.picture(`${name}-narrow`);
  if (size !== null) await page.setViewportSize(size);
}
