/**
 * Loads what a test file imports with Node's own `require`, once per worker instead of once per test file: the modules
 * of the gateway and its libraries take about three seconds of CPU. Test files themselves, and Jest, are loaded anew.
 * So `jest.mock()` has no effect; replace providers with `overrideProvider()`, or spy on an object.
 */
const Module = require('node:module');
const { resolve } = require('node:path');
const { default: Runtime } = require('jest-runtime');
const { installTypescriptPrograms } = require('../typescript-programs');

/** For the stack traces of modules that an earlier test file has loaded. */
const sourceMaps = new Map();
let current;

installTypescriptPrograms();
Module.enableCompileCache(resolve(__dirname, '../../../node_modules/.cache/node-compile'));

for (const extension of ['.ts', '.tsx']) {
  Module._extensions[extension] = (module, filename) => module._compile(current.transformShared(filename), filename);
}

module.exports = class SharedRuntime extends Runtime {
  constructor(...parameters) {
    super(...parameters);
    current = this;
    // Jest passes it to modules that it loads itself.
    globalThis.jest = this.jestGlobals.jestObjectFor(this._testPath);
  }

  transformShared(filename) {
    const code = this.transformCache.transform(filename);
    for (const [file, map] of super.getSourceMaps()) sourceMaps.set(file, map);
    return code;
  }

  requireModuleOrMock(from, moduleName) {
    if (moduleName === '@jest/globals') return super.requireModuleOrMock(from, moduleName);
    return Module.createRequire(from)(moduleName);
  }

  getSourceMaps() {
    for (const [file, map] of super.getSourceMaps()) sourceMaps.set(file, map);
    return sourceMaps;
  }
};
