import { loadCatalog } from '../../src/models/load-catalog';
import { toMessagesRequest } from '../../src/providers/dialects/anthropic-messages/to-messages-request';
import { chatRequest } from './provider-call';

/** Of Claude 4.6 (https://platform.claude.com/docs/en/about-claude/models/migration-guide). */
const FIRST_RELEASE = '2026-02-05';

it('no Claude model from 4.6 on gets an answer to continue, which would be a 400', async () => {
  const entries = (await loadCatalog(null)).map((file) => file.entry);
  const claude = entries.filter(({ deployments }) => deployments.some(({ provider }) => provider === 'anthropic'));
  const begun = chatRequest({ messages: [...chatRequest().messages, { role: 'assistant', content: 'It is' }] });
  const continuing = claude.filter(({ features }) => {
    try {
      return toMessagesRequest(begun, { features, quirks: {}, upstreamModel: 'm' }).body.messages.length > 0;
    } catch {
      return false;
    }
  });
  expect(continuing.length).toBeGreaterThan(0);
  const newer = continuing.filter(({ released }) => released === undefined || released >= FIRST_RELEASE);
  expect(newer.map(({ id }) => id)).toEqual([]);
});
