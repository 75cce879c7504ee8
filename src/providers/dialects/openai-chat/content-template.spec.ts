import * as fc from 'fast-check';
import { chunkBytes, UPSTREAM_ACCENTS } from '../../../../test/conformance/chat-chunks';
import { providerCall } from '../../../../test/conformance/provider-call';
import { ChatStreamState } from '../../kit/upstream-stream';
import { ChatChunkTranslator } from './chat-stream';
import { ContentTemplate, FrameTemplate } from './content-template';

const OPENING = chunkBytes({ role: 'assistant', content: '' });

/** Translates with one translator per event, which learns nothing, or with one for all events. */
function translate(events: readonly Buffer[], learning: boolean): { chunks: unknown[]; bytes: number } {
  let state = new ChatStreamState();
  let translator = new ChatChunkTranslator(providerCall(), state);
  translator.translate(OPENING);
  let bytes = 0;
  const chunks = events.map((event) => {
    if (!learning) {
      state = new ChatStreamState();
      translator = new ChatChunkTranslator(providerCall(), state);
      translator.translate(OPENING);
    }
    const before = state.generatedBytes;
    const frame = translator.translate(event);
    bytes += state.generatedBytes - before;
    return frame === null ? null : JSON.parse(frame.toString('utf8').slice('data: '.length));
  });
  return { chunks, bytes };
}

const text = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.string({ unit: 'binary' }),
  fc.constantFrom('\\', '"', '\n', '\u2028', ''),
);

describe('ContentTemplate', () => {
  it.each(UPSTREAM_ACCENTS)('matches the output of the parsed path for any text ($name)', ({ build }) => {
    fc.assert(
      fc.property(fc.array(text, { minLength: 1, maxLength: 12 }), (texts) => {
        const events = texts.map((content) => build({ content }));
        expect(translate(events, true)).toEqual(translate(events, false));
      }),
      { numRuns: 60 },
    );
  });

  it('matches the output of the parsed path when events of other shapes intervene', () => {
    const delta = fc.oneof(
      fc.record({ content: text }),
      fc.record({ reasoning_content: text }),
      fc.record({ reasoning: text }),
      fc.record({ content: text, refusal: fc.constant(null) }),
      fc.record({ content: fc.constant(null), reasoning_content: text }),
      fc.record({ refusal: text }),
      fc.constant({}),
    );
    fc.assert(
      fc.property(fc.array(delta, { minLength: 1, maxLength: 20 }), (deltas) => {
        const events = deltas.map((fields) => chunkBytes(fields));
        expect(translate(events, true)).toEqual(translate(events, false));
      }),
      { numRuns: 150 },
    );
  });

  const example = { choices: [{ index: 0, delta: { content: 'a' }, finish_reason: null }] };
  const learned = () => ContentTemplate.learn(Buffer.from(JSON.stringify(example)), example) as ContentTemplate;
  const event = (body: string | Buffer) => {
    const [head = '', tail = ''] = JSON.stringify(example).split('"a"');
    return Buffer.concat([Buffer.from(`${head}"`), Buffer.from(body), Buffer.from(`"${tail}`)]);
  };

  it.each([
    ['plain text', 'Hello', 5],
    ['UTF-8', 'größer 😀', 13],
    ['simple escapes', String.raw`a\n\"\\\/b`, 6],
    ['nothing', '', 0],
  ])('applies to %s and counts its bytes', (_name, body, bytes) => {
    const template = learned();
    expect(template.matches(event(body))).toBe(true);
    expect(template.textBytes).toBe(bytes);
    expect(template.textOf(event(body))).toBe(JSON.parse(`"${body}"`));
    const frame = FrameTemplate.of(template, JSON.stringify(template.example));
    expect(frame?.around(event(body)).toString()).toBe(`data: ${event(body).toString()}\n\n`);
  });

  it.each([
    ['an unescaped quote', 'a","b":"c'],
    ['a raw control character', 'a\tb'],
    ['NUL', 'a\0b'],
    ['an unknown escape', String.raw`a\xb`],
    ['a unicode escape', String.raw`\u00e9`],
    ['an escaped closing quote', 'a\\'],
    ['invalid UTF-8', Buffer.of(0x61, 0xff)],
    ['half a character', Buffer.from('é').subarray(0, 1)],
  ])('leaves %s to the parsed path', (_name, body) => {
    expect(learned().matches(event(body))).toBe(false);
  });

  it.each([
    ['a finish reason', { choices: [{ delta: { content: 'a' }, finish_reason: 'stop' }] }],
    ['usage', { choices: [{ delta: { content: 'a' } }], usage: { prompt_tokens: 1 } }],
    ['a tool call', { choices: [{ delta: { content: 'a', tool_calls: [{}] } }] }],
    ['log probabilities', { choices: [{ delta: { content: 'a' }, logprobs: { content: [] } }] }],
    ['two texts', { choices: [{ delta: { content: 'a', reasoning_content: 'b' } }] }],
    ['no text', { choices: [{ delta: {} }] }],
    ['the text in another place', { content: 'x', choices: [{ delta: { content: 'a' } }] }],
  ])('does not learn from a chunk with %s', (_name, chunk) => {
    expect(ContentTemplate.learn(Buffer.from(JSON.stringify(chunk)), chunk)).toBeNull();
  });
});
