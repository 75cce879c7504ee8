'use strict';
/** A thread for `ProbeThreads` that echoes its input and crashes a moment later. */
const { parentPort } = require('node:worker_threads');

parentPort.on('message', (message) => {
  parentPort.postMessage(message, []);
  setImmediate(() => {
    throw new Error('too late');
  });
});
