// Loaded into a gateway with NODE_OPTIONS=--require: writes the event loop delay and the memory to the file that
// PROCESS_PROBE_FILE names. SIGUSR2 begins a new measurement.
const { writeFileSync } = require('node:fs');
const { monitorEventLoopDelay } = require('node:perf_hooks');

const RESOLUTION_MS = 5;
const WRITE_EVERY_MS = 200;

const file = process.env.PROCESS_PROBE_FILE;
const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
delay.enable();
let peakRssBytes = 0;
process.on('SIGUSR2', () => delay.reset());
setInterval(() => {
  const rssBytes = process.memoryUsage.rss();
  peakRssBytes = Math.max(peakRssBytes, rssBytes);
  const eventLoopMs = { p50: delay.percentile(50) / 1e6, p99: delay.percentile(99) / 1e6, max: delay.max / 1e6 };
  writeFileSync(file, JSON.stringify({ rssMiB: rssBytes / 2 ** 20, peakRssMiB: peakRssBytes / 2 ** 20, eventLoopMs }));
}, WRITE_EVERY_MS).unref();
