/** The text of `NO_CHROMIUM` in `test/harness/chromium.ts`, which is in the titles of skipped journeys. */
const REASON = 'no Chromium (Debian: `apt-get install chromium-headless-shell`, else `CHROMIUM_PATH`)';

/** Says at the end of a run how many journeys were skipped because there is no browser. */
module.exports = class JourneysReporter {
  onRunComplete(_contexts, { testResults }) {
    const skipped = testResults
      .flatMap((file) => file.testResults)
      .filter(({ status, ancestorTitles }) => status === 'pending' && ancestorTitles[0]?.endsWith(REASON));
    if (skipped.length === 0) return;
    const count = skipped.length === 1 ? '1 journey was' : `${skipped.length} journeys were`;
    process.stdout.write(`${count} not run: ${REASON}\n`);
  }
};
