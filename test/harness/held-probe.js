'use strict';
/** A thread for `ProbeThreads` that reports each file on the channel `held-probe`, and finishes it when its name comes back. */
const { BroadcastChannel, parentPort } = require('node:worker_threads');

const channel = new BroadcastChannel('held-probe');
const finished = new Set();
let file = null;

function finishIfAllowed() {
  if (file === null || !finished.has(file)) return;
  file = null;
  parentPort.postMessage(null, []);
}

channel.addEventListener('message', ({ data }) => {
  if (data.finish === undefined) return;
  finished.add(data.finish);
  finishIfAllowed();
});
channel.unref();

parentPort.on('message', ({ bytes }) => {
  file = Buffer.from(bytes).toString();
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel between threads has no origin
  channel.postMessage({ begun: file });
  finishIfAllowed();
});
