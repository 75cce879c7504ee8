import type { RawMessageStreamEvent, TextCitation } from '@anthropic-ai/sdk/resources/messages';
import {
  events,
  finish,
  message,
  playMessage,
  START,
  STOP,
  toolUse,
} from '../../../../test/conformance/message-events';
import { fromMessage } from './from-message';

const document = { cited_text: 'The sky is blue.', document_index: 1, file_id: null } as const;
const PAGE: TextCitation = {
  ...document,
  type: 'page_location',
  document_title: 'A report.pdf',
  start_page_number: 3,
  end_page_number: 4,
};
const CHARACTERS: TextCitation = {
  ...document,
  type: 'char_location',
  document_title: null,
  start_char_index: 20,
  end_char_index: 36,
};
const BLOCK: TextCitation = {
  ...document,
  type: 'content_block_location',
  document_title: 'notes',
  start_block_index: 0,
  end_block_index: 1,
};
const WEB: TextCitation = {
  type: 'web_search_result_location',
  cited_text: 'Blue.',
  encrypted_index: 'opaque',
  title: 'Sky',
  url: 'https://a.example/sky',
};
const SEARCH: TextCitation = {
  type: 'search_result_location',
  cited_text: 'Blue.',
  source: 'https://b.example/sky',
  title: null,
  search_result_index: 0,
  start_block_index: 0,
  end_block_index: 1,
};

const annotation = (start: number, end: number, url: string, title: string, content: string) => ({
  type: 'url_citation',
  url_citation: { start_index: start, end_index: end, url, title, content },
});

const TEXTS: readonly [string, TextCitation[]][] = [
  ['Größe 😀: ', []],
  ['the sky is blue', [PAGE, CHARACTERS]],
  [', ', []],
  ['mostly', [BLOCK, WEB, SEARCH]],
];
const EXPECTED = [
  annotation(10, 25, 'A%20report.pdf#page=3', 'A report.pdf', 'The sky is blue.'),
  annotation(10, 25, 'document-2#char=20,36', 'document-2', 'The sky is blue.'),
  annotation(27, 33, 'notes', 'notes', 'The sky is blue.'),
  annotation(27, 33, 'https://a.example/sky', 'Sky', 'Blue.'),
  annotation(27, 33, 'https://b.example/sky', 'https://b.example/sky', 'Blue.'),
];

function streamed(texts: typeof TEXTS): RawMessageStreamEvent[] {
  return texts.flatMap(([text, citations], index): RawMessageStreamEvent[] => [
    { type: 'content_block_start', index, content_block: { type: 'text', text: '', citations: null } },
    ...citations.map((citation): RawMessageStreamEvent => {
      return { type: 'content_block_delta', index, delta: { type: 'citations_delta', citation } };
    }),
    { type: 'content_block_delta', index, delta: { type: 'text_delta', text } },
    { type: 'content_block_stop', index },
  ]);
}

describe('citations', () => {
  it('are annotations of a whole message, each for the passage of its block', () => {
    const content = TEXTS.map(([text, citations]) => ({ type: 'text' as const, text, citations }));
    const { result } = fromMessage(Buffer.from(JSON.stringify(message({ content }))), { publicModel: 'a/b' });
    const text = TEXTS.map(([each]) => each).join('');
    expect(result.body.choices).toMatchObject([{ message: { content: text, annotations: EXPECTED } }]);
    expect(result.outputBytes).toBe(Buffer.byteLength(text));
  });

  it('are annotations of a stream, all right before the finish, however the bytes are split', async () => {
    const bytes = Buffer.from(events(START, ...streamed(TEXTS), finish('end_turn'), STOP));
    for (const size of [7, 64, bytes.length]) {
      const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
        bytes.subarray(at * size, (at + 1) * size),
      );
      const { list, failure } = await playMessage(...pieces);
      expect(failure).toBeNull();
      expect(list.flatMap((event) => (event.type === 'annotation' ? [event.annotation] : []))).toEqual(EXPECTED);
      expect(list.slice(-2).map(({ type }) => type)).toEqual(['finish', 'usage']);
      expect(list.at(-3)?.type).toBe('annotation');
    }
  });

  it('come before the tool calls that follow their text', async () => {
    const call = toolUse(4, 'toolu_1', 'f', '{}');
    const { list } = await playMessage(events(START, ...streamed(TEXTS), ...call, finish('tool_use'), STOP));
    const kinds = list.map(({ type }) => type);
    expect(kinds.lastIndexOf('annotation')).toBeLessThan(kinds.indexOf('tool_call'));
  });

  it('without a source are left out', () => {
    const content = [{ type: 'text', text: 'Hi', citations: [{ type: 'later_location' }, null, 'x'] }];
    const reply = Buffer.from(JSON.stringify({ ...message(), content }));
    const { result } = fromMessage(reply, { publicModel: 'a/b' });
    expect(JSON.stringify(result.body)).not.toContain('annotations');
  });
});
