'use strict';
/** A thread for `ProbeThreads` that answers with what it is sent, and dies of it a moment later. */
const { parentPort } = require('node:worker_threads');

parentPort.on('message', (message) => {
  parentPort.postMessage(message, []);
  setImmediate(() => {
    throw new Error('too late');
  });
});
