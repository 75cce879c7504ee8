/**
 * Worker threads run outside of Jest, whose transform they do not see: those of a TypeScript file get the hook that
 * child processes use. The build has only JavaScript.
 */
const { join } = require('node:path');
const threads = require('node:worker_threads');

const REGISTER = ['--require', join(__dirname, 'register-typescript.js')];

exports.installTypescriptThreads = () => {
  threads.Worker = class TypescriptWorker extends threads.Worker {
    constructor(file, options) {
      super(file, String(file).endsWith('.ts') ? { ...options, execArgv: REGISTER } : options);
    }
  };
};
