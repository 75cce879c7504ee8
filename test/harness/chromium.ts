import { execFileSync } from 'node:child_process';

/** The first one has no windows to draw: the journeys take 57 % of the CPU time that they take with the others. */
const NAMES = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome'];

/** `jest/journeys-reporter.js` knows skipped journeys by it. */
export const NO_CHROMIUM = 'no Chromium (Debian: `apt-get install chromium-headless-shell`, else `CHROMIUM_PATH`)';

/** The path of an installed Chromium; null without one. */
export function findChromium(): string | null {
  const { CHROMIUM_PATH } = process.env;
  if (CHROMIUM_PATH !== undefined) return CHROMIUM_PATH;
  for (const name of NAMES) {
    try {
      return execFileSync('which', [name], { stdio: ['ignore', 'pipe', 'ignore'] })
        .toString()
        .trim();
    } catch {
      // The next name.
    }
  }
  return null;
}
