import { randomUUID } from 'node:crypto';

/** The test server's URL and a key prefix that no other test uses. Keys left behind vanish with the server. */
export function createTestRedis(): { readonly url: string; readonly keyPrefix: string } {
  const url = process.env.TEST_REDIS_URL;
  if (url === undefined) {
    throw new Error('TEST_REDIS_URL is not set: tests with services need the jest.config.js of this project');
  }
  return { url, keyPrefix: `test:${randomUUID()}:` };
}
