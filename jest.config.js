const { availableParallelism } = require('node:os');

/**
 * One project per kind of test; the scripts of package.json select them. All but `unit` need the PostgreSQL and Redis
 * that their global setup provides, once per run.
 */
const shared = {
  rootDir: __dirname,
  roots: ['<rootDir>/src', '<rootDir>/test'],
  runtime: '<rootDir>/test/harness/jest/shared-runtime.js',
  testEnvironment: '<rootDir>/test/harness/jest/shared-environment.js',
  moduleFileExtensions: ['ts', 'tsx', 'js', 'json', 'node'],
  setupFiles: ['reflect-metadata'],
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
        // Modules that are loaded late are ES modules here too, as it is in the build: a library may exist once only.
        module: { type: 'commonjs', ignoreDynamic: true },
        sourceMaps: 'inline',
      },
    ],
    [String.raw`^.+\.tsx$`]: [
      '@swc/jest',
      {
        jsc: {
          parser: { syntax: 'typescript', tsx: true },
          transform: { react: { runtime: 'automatic' } },
          target: 'es2023',
        },
        module: { type: 'commonjs' },
        sourceMaps: 'inline',
      },
    ],
  },
};

const withServers = {
  ...shared,
  globalSetup: '<rootDir>/test/harness/global-setup.ts',
  globalTeardown: '<rootDir>/test/harness/global-teardown.ts',
};

/** A `load` test takes the whole machine: it belongs to the long form of the faults, one file at a time. */
const SLOW_FAULTS = process.env.FAULTS_FULL === '1' ? 'slow-fault|load' : 'slow-fault';

/** @type {import('jest').Config} */
module.exports = {
  // Only for a test that never ends: a slow machine must not fail one.
  testTimeout: 120_000,
  // Tests wait for timeouts and servers more than half of the time.
  maxWorkers: Math.max(5, availableParallelism() - 1),
  // `.ci/run` adds up the totals of several runs.
  reporters: [
    'default',
    '<rootDir>/test/harness/jest/totals-reporter.js',
    '<rootDir>/test/harness/jest/journeys-reporter.js',
  ],
  projects: [
    { ...shared, displayName: 'unit', testRegex: String.raw`\.spec\.tsx?$` },
    { ...withServers, displayName: 'integration', testRegex: String.raw`/test/integration/.+\.integration-spec\.ts$` },
    { ...withServers, displayName: 'e2e', testRegex: String.raw`/test/(e2e|conformance)/.+\.e2e-spec\.ts$` },
    { ...withServers, displayName: 'clients', testRegex: String.raw`/test/clients/.+\.e2e-spec\.ts$` },
    {
      ...withServers,
      displayName: 'web',
      globalSetup: '<rootDir>/test/harness/web-setup.ts',
      testRegex: String.raw`/test/web/.+\.web-spec\.ts$`,
    },
    { ...withServers, displayName: 'faults', testRegex: String.raw`/test/faults/.+\.fault-spec\.ts$` },
    { ...withServers, displayName: 'slow-faults', testRegex: String.raw`/test/faults/.+\.(${SLOW_FAULTS})-spec\.ts$` },
  ],
};
