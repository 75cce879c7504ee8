const { appendFileSync } = require('node:fs');
const { relative } = require('node:path');
const { stripVTControlCharacters } = require('node:util');

const LISTED_FILES = 15;
const LISTED_LINES = 12;

/**
 * For `.ci/run`: appends "<passed> <failed>" of a run to the file named by `TEST_TOTALS`, and its failures with the
 * first lines of their errors to the file named by `TEST_FAILURES`. Prints the files that took longest, which decide
 * how long the whole takes.
 */
module.exports = class TotalsReporter {
  constructor({ rootDir }) {
    this.rootDir = rootDir;
  }

  onRunComplete(_contexts, { numPassedTests, numFailedTests, numRuntimeErrorTestSuites, testResults }) {
    const file = process.env.TEST_TOTALS;
    if (!file) return;
    appendFileSync(file, `${numPassedTests} ${numFailedTests + numRuntimeErrorTestSuites}\n`);
    const failures = testResults.flatMap(({ testFilePath, testExecError, testResults: tests }) => {
      const path = relative(this.rootDir, testFilePath);
      const failedTests = tests.filter(({ status }) => status === 'failed');
      return [
        ...(testExecError ? [`${path} did not run\n${firstLines(testExecError.stack ?? testExecError.message)}`] : []),
        ...failedTests.map((test) => `${path}: ${test.fullName}\n${firstLines(test.failureMessages[0] ?? '')}`),
      ];
    });
    appendFileSync(process.env.TEST_FAILURES, failures.join(''));
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

function firstLines(text) {
  const lines = stripVTControlCharacters(text).split('\n').slice(0, LISTED_LINES);
  return lines.map((line) => `  ${line}\n`).join('');
}
