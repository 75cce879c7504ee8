/**
 * Runs test files in the realm of their worker, instead of a new one each: modules can be shared between them
 * (shared-runtime.js), and `instanceof` works across files. Isolation is by process and by database instead.
 */
const vm = require('node:vm');
const { ModernFakeTimers } = require('@jest/fake-timers');
const { ModuleMocker } = require('jest-mock');

/** Jest compiles every module for the context of its environment; this one stands for "no other context". */
const THIS_REALM = {};
const compileFunction = vm.compileFunction;
vm.compileFunction = (code, parameters, options) =>
  compileFunction(code, parameters, options?.parsingContext === THIS_REALM ? inThisRealm(options) : options);

/** The callback of Jest for `import()` would load the module in another realm. */
const inThisRealm = (options) => ({
  ...options,
  parsingContext: undefined,
  importModuleDynamically: vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
});

module.exports = class SharedEnvironment {
  constructor({ projectConfig }) {
    this.global = globalThis;
    this.moduleMocker = new ModuleMocker(globalThis);
    this.fakeTimers = null;
    this.fakeTimersModern = new ModernFakeTimers({ config: projectConfig, global: globalThis });
    Error.stackTraceLimit = 100;
    this.original = { exit: process.exit, getBuiltinModule: process.getBuiltinModule, env: { ...process.env } };
    // Only the symbols of Jest that outlive a test file.
    for (const name of ['EVENT_HANDLERS', 'RETRY_TIMES', 'TEST_TIMEOUT_SYMBOL']) {
      delete globalThis[Symbol.for(name)];
    }
  }

  async setup() {
    // Jest replaces it by one that stops to work after the test file.
    process.getBuiltinModule = this.original.getBuiltinModule;
  }

  async teardown() {
    this.fakeTimersModern.dispose();
    process.exit = this.original.exit;
    process.getBuiltinModule = this.original.getBuiltinModule;
    for (const name of Object.keys(process.env)) if (!(name in this.original.env)) delete process.env[name];
    Object.assign(process.env, this.original.env);
  }

  /** The harness of browsers keeps what the pages show when a test fails. */
  async handleTestEvent({ name }) {
    if (name === 'test_fn_failure') await globalThis[Symbol.for('gateway.keepPages')]?.();
  }

  exportConditions() {
    return ['node', 'node-addons'];
  }

  getVmContext() {
    return THIS_REALM;
  }
};
