/** `npm run test:live`: calls the real vendors whose keys are in the environment or in `.env`, which costs money. */
import { runLive } from './live-run';

runLive({ environment: process.env, print: (line) => console.log(line) }).then(
  (exitCode) => (process.exitCode = exitCode),
  (error: unknown) => {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  },
);
