/**
 * `node --require ./test/harness/register-typescript.js <file>.ts`: runs TypeScript as Jest does, for tests that need
 * whole processes. Child processes inherit it through `execArgv`.
 */
const { readFileSync } = require('node:fs');
const Module = require('node:module');
const { transformSync } = require('@swc/core');
const jestConfig = require('../../jest.config');

const [, swcOptions] = jestConfig.projects[0].transform[String.raw`^.+\.ts$`];

Module._extensions['.ts'] = (module, filename) => {
  const { code } = transformSync(readFileSync(filename, 'utf8'), { ...swcOptions, filename, swcrc: false });
  module._compile(code, filename);
};
