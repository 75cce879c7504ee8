const { appendFileSync } = require('node:fs');
const { relative } = require('node:path');

const LISTED_FILES = 15;

/**
 * For `.ci/run`: appends "<passed> <failed>" of a run to the file named by `TEST_TOTALS`, and prints the files that took
 * longest, which decide how long the whole takes.
 */
module.exports = class TotalsReporter {
  constructor({ rootDir }) {
    this.rootDir = rootDir;
  }

  onRunComplete(_contexts, { numPassedTests, numFailedTests, numRuntimeErrorTestSuites, testResults }) {
    const file = process.env.TEST_TOTALS;
    if (!file) return;
    appendFileSync(file, `${numPassedTests} ${numFailedTests + numRuntimeErrorTestSuites}\n`);
    const slowest = testResults
      .map(({ perfStats, testFilePath }) => ({
        seconds: perfStats.runtime / 1000,
        path: relative(this.rootDir, testFilePath),
      }))
      .toSorted((one, other) => other.seconds - one.seconds)
      .slice(0, LISTED_FILES);
    for (const { seconds, path } of slowest) process.stdout.write(`${seconds.toFixed(1).padStart(6)} s  ${path}\n`);
  }
};
