/**
 * Worker threads run outside of Jest, whose transform they do not see: those of a TypeScript file get the hook that
 * child processes use. The build has only JavaScript.
 */
const { join } = require('node:path');

const REGISTER = ['--require', join(__dirname, 'register-typescript.js')];

jest.mock('node:worker_threads', () => {
  const actual = jest.requireActual('node:worker_threads');
  class TypescriptWorker extends actual.Worker {
    constructor(file, options) {
      super(file, String(file).endsWith('.ts') ? { ...options, execArgv: REGISTER } : options);
    }
  }
  return { ...actual, Worker: TypescriptWorker };
});
