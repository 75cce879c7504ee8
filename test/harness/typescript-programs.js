/**
 * Child processes run outside of Jest, whose transform they do not see: those that the gateway forks from a TypeScript
 * file get the hook that tests give to their own. The build has only JavaScript.
 */
const { join } = require('node:path');
const childProcess = require('node:child_process');

const REGISTER = ['--require', join(__dirname, 'register-typescript.js')];

exports.installTypescriptPrograms = () => {
  const { fork } = childProcess;
  childProcess.fork = (file, args, options) => {
    const given = Array.isArray(args) ? options : args;
    const execArgv = given?.execArgv ?? [];
    if (!String(file).endsWith('.ts') || execArgv.includes('--require')) return fork(file, args, options);
    return fork(file, Array.isArray(args) ? args : [], { ...given, execArgv: [...execArgv, ...REGISTER] });
  };
};
