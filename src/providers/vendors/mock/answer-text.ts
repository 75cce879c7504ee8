import type { Conversation } from './conversation';
import { readRequestedLength, type RequestedLength } from './read-prompt';
import { readTopic } from './read-prompt';
import { headOf, tokenize } from './tokens';

/**
 * The mock's prose. It repeats the question, so that new users see their request arrive, and continues with sentences
 * that fit any topic. Equal conversations get equal text.
 */
const SENTENCES = [
  'The short version is that {topic} works best when every part has one clear job.',
  'A good first step is to write down what {topic} must do and how you would notice that it does.',
  'People who know {topic} well start small, measure, and change one thing at a time.',
  'There are three sides to {topic}, namely what goes in, what comes out, and what may go wrong between them.',
  'If {topic} surprises you, look at the simplest case first.',
  'Most of what matters about {topic} can be found by trying it once with real input.',
  'Next to its alternatives, {topic} trades a little speed for a lot of clarity.',
  'In practice {topic} is limited less by theory than by time and attention.',
  'A common mistake is to call {topic} finished when it only looks finished.',
  'An example helps, so take {topic}, change one detail, and see what else moves.',
  'The details of {topic} differ from place to place, but the outline stays the same.',
  'Once {topic} is understood, the next question usually answers itself.',
];
/** Shares no factor with the number of sentences, so that all are used before one returns. */
const STRIDE = 5;
const DEFAULT_SENTENCES = 3;
const SENTENCES_PER_PARAGRAPH = 3;
const QUOTE_LENGTH = 160;

/** The answer in prose, as long as the prompt requests; three sentences by default. */
export function writeAnswer(conversation: Conversation): string {
  const writer = new Writer(conversation);
  return writer.write(readRequestedLength(conversation.prompt) ?? { unit: 'sentence', count: DEFAULT_SENTENCES });
}

/** One sentence of the text; sentence 0 repeats the question. */
export function writeSentence(conversation: Conversation, index: number): string {
  const writer = new Writer(conversation);
  return index === 0 ? writer.opening() : writer.sentence(index);
}

/** Prose of exactly `count` tokens. */
export function writeTokens(conversation: Conversation, count: number): string[] {
  const writer = new Writer(conversation);
  const tokens = tokenize(writer.opening());
  for (let index = 0; tokens.length < count; index++) {
    tokens.push(...tokenize(` ${writer.sentence(index)}`));
  }
  tokens.length = count;
  return tokens;
}

class Writer {
  private readonly topic: string;

  constructor(private readonly conversation: Conversation) {
    this.topic = readTopic(conversation.prompt) ?? 'this';
  }

  write({ unit, count }: RequestedLength): string {
    switch (unit) {
      case 'word':
        return this.words(count);
      case 'sentence':
        return this.sentences(0, count);
      case 'paragraph':
        return Array.from({ length: count }, (_, index) =>
          this.sentences(index * SENTENCES_PER_PARAGRAPH, SENTENCES_PER_PARAGRAPH),
        ).join('\n\n');
      case 'bullet':
        return Array.from({ length: count }, (_, index) => `- ${this.sentences(index, 1)}`).join('\n');
    }
  }

  opening(): string {
    const { prompt, attachments, toolResults } = this.conversation;
    const question = prompt === '' ? '' : `"${quotable(prompt)}"`;
    if (toolResults.length > 0) {
      const findings = toolResults
        .map(({ name, text }) => `${name} returned ${quotable(text) || 'nothing'}`)
        .join(', and ');
      return `${findings}, which answers ${question || 'the question'}.`;
    }
    const enclosed = attachments.join(' and ');
    if (question === '') {
      return `You sent ${enclosed || 'no question'}, and this is the mock model answering.`;
    }
    return `You asked ${question}${enclosed && ` with ${enclosed}`}, and this is the mock model answering.`;
  }

  sentence(index: number): string {
    const at = (this.conversation.seed + index * STRIDE) % SENTENCES.length;
    return (SENTENCES[at] ?? '').replace('{topic}', () => this.topic);
  }

  /** `count` sentences of the endless text, whose sentence 0 is the opening. */
  private sentences(first: number, count: number): string {
    let text = '';
    for (let index = first; index < first + count; index++) {
      text += (text && ' ') + (index === 0 ? this.opening() : this.sentence(index));
    }
    return text;
  }

  /** Exactly `count` words. They do not quote the prompt, since its length would determine where the quotation ends. */
  private words(count: number): string {
    const [subject = ''] = this.topic.split(' ');
    if (count < 4) {
      return `${[capitalised(subject), 'is', 'useful'].slice(0, count).join(' ')}.`;
    }
    const words = `You asked about ${this.topic}, so here is the mock model's answer.`.split(' ');
    for (let index = 0; words.length < count; index++) {
      words.push(...this.sentence(index).split(' '));
    }
    words.length = count;
    return `${words.join(' ').replace(/[.,]$/, '')}.`;
  }
}

/** The start of a text as a phrase inside another sentence: without full stops, cut between tokens. */
function quotable(text: string): string {
  const phrase = headOf(text, QUOTE_LENGTH * 2)
    .replace(/[.!?]+(?= )/g, ',')
    .replace(/[.!?,]+$/, '');
  if (phrase.length <= QUOTE_LENGTH) {
    return phrase;
  }
  let quoted = '';
  for (const token of tokenize(phrase)) {
    if (quoted.length + token.length > QUOTE_LENGTH) {
      break;
    }
    quoted += token;
  }
  return `${quoted}…`;
}

function capitalised(word: string): string {
  const [first = ''] = word;
  return first.toUpperCase() + word.slice(first.length);
}
