/** Once per run that has journeys: {@link globalSetup}, unless `REQUIRE_BROWSER=1` and there is no browser. */
import { findChromium, NO_CHROMIUM } from './chromium';
import globalSetup from './global-setup';
import globalTeardown from './global-teardown';

/** @throws Error before the first test of the run */
export default async function webSetup(): Promise<void> {
  if (process.env.REQUIRE_BROWSER === '1' && findChromium() === null) {
    // Jest does not call it after a failed setup, and the setup of other projects may have been before this one.
    await globalTeardown();
    throw new Error(`REQUIRE_BROWSER=1, but there is ${NO_CHROMIUM}`);
  }
  await globalSetup();
}
