const { appendFileSync } = require('node:fs');

/** Appends "<passed> <failed>" of a run to the file named by `TEST_TOTALS`. */
module.exports = class TotalsReporter {
  onRunComplete(_contexts, { numPassedTests, numFailedTests, numRuntimeErrorTestSuites }) {
    const file = process.env.TEST_TOTALS;
    if (file) appendFileSync(file, `${numPassedTests} ${numFailedTests + numRuntimeErrorTestSuites}\n`);
  }
};
