const { availableParallelism } = require('node:os');

/**
 * Two suites in one run: `small` needs nothing; `services` needs the PostgreSQL and Redis that its global setup
 * provides, which Jest only calls when one of its files is selected. Nest 12 is published as ES modules, which Jest
 * loads from CommonJS only on Node 24 under `NODE_OPTIONS=--experimental-vm-modules`.
 */
const shared = {
  rootDir: __dirname,
  roots: ['<rootDir>/src', '<rootDir>/test'],
  testEnvironment: 'node',
  moduleFileExtensions: ['ts', 'js', 'json', 'node'],
  setupFiles: ['reflect-metadata', '<rootDir>/test/harness/typescript-threads.js'],
  setupFilesAfterEnv: ['<rootDir>/test/harness/socket-watch.ts'],
  transform: {
    [String.raw`^.+\.ts$`]: [
      '@swc/jest',
      {
        jsc: {
          parser: { syntax: 'typescript', decorators: true },
          transform: { legacyDecorator: true, decoratorMetadata: true },
          target: 'es2023',
        },
        // What is loaded late is an ES module here too, as it is in the build: a library may exist once only.
        module: { type: 'commonjs', ignoreDynamic: true },
        sourceMaps: 'inline',
      },
    ],
  },
};

/** A `load` test takes the whole machine: it belongs to the long form of the faults, one file at a time. */
const SERVICE_TESTS = ['medium', 'e2e', ...(process.env.FAULTS_FULL === '1' ? ['load'] : [])];

/** @type {import('jest').Config} */
module.exports = {
  // Only for a test that never ends: how long one takes is the machine's business.
  testTimeout: 120_000,
  // Tests wait for a server much of the time: with two of them at once two cores are idle for almost half of it.
  maxWorkers: Math.max(3, availableParallelism() - 1),
  projects: [
    { ...shared, displayName: 'small', testRegex: String.raw`\.spec\.ts$` },
    {
      ...shared,
      displayName: 'services',
      testRegex: String.raw`\.(${SERVICE_TESTS.join('|')})-spec\.ts$`,
      globalSetup: '<rootDir>/test/harness/global-setup.ts',
      globalTeardown: '<rootDir>/test/harness/global-teardown.ts',
    },
  ],
};
