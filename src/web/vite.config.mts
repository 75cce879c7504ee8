import { fileURLToPath } from 'node:url';
import tailwindcss from '@tailwindcss/vite';
import { defineConfig } from 'vite';
import { pageFiles } from './build/page-files.mts';

const GATEWAY = 'http://127.0.0.1:8080';
const here = fileURLToPath(new URL('.', import.meta.url));

/** Builds the pages into `dist/pages`. In development, API calls go to a gateway on port 8080. */
export default defineConfig({
  root: here,
  base: '/dashboard/',
  plugins: [tailwindcss(), pageFiles()],
  build: {
    outDir: fileURLToPath(new URL('../../dist/pages', import.meta.url)),
    emptyOutDir: true,
    target: ['chrome131', 'firefox132', 'safari18'],
    cssCodeSplit: false,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    sourcemap: 'hidden',
    license: { fileName: 'assets/licenses.txt' },
    chunkSizeWarningLimit: 600,
    rolldownOptions: {
      // Libraries mark modules for React servers; there is none here.
      onLog: (level, log, report) => {
        if (log.code !== 'MODULE_LEVEL_DIRECTIVE') report(level, log);
      },
      output: { comments: { legal: false } },
    },
  },
  server: {
    port: 5173,
    // Without `changeOrigin`: the gateway compares `Origin` with `Host`.
    proxy: { '/dashboard/api': GATEWAY, '/dashboard/openapi.yaml': GATEWAY, '/v1': GATEWAY },
  },
});
