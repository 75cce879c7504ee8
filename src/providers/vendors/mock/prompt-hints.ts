import { writeSentence } from './answer-text';
import type { Conversation } from './conversation';
import type { ValueHints } from './json-schema-instance';
import { readNames, readTopic } from './read-prompt';

const QUESTION_NAME = /quer|question|prompt|input|search|request/;
const PROSE_NAME = /text|content|answer|summary|explanation|reason|description|message|reply|response|output/;
const PLACE_NAME = /city|place|location|country|region|town|destination|address/;
const DATE_NAME = /(?:^|_)(?:date|day|when)$/;
const WEEKDAY = /\b(?:today|tomorrow|(?:mon|tues|wednes|thurs|fri|satur|sun)day)\b/i;
const DATE = /\b\d{4}-\d{2}-\d{2}\b/;

/** Takes values for a schema from the prompt, so that "What is the weather in Paris?" fills in the city "Paris". */
export class PromptHints implements ValueHints {
  private readonly prompt: string;
  private readonly lowerPrompt: string;
  private sentences = 0;
  private names: readonly string[] | undefined;
  private places: readonly string[] | undefined;
  private numbers: readonly number[] | undefined;

  constructor(private readonly conversation: Conversation) {
    this.prompt = conversation.prompt;
    this.lowerPrompt = conversation.prompt.toLowerCase();
  }

  text(propertyName: string, variant: number): string {
    const name = propertyName.toLowerCase();
    if (QUESTION_NAME.test(name) && this.prompt !== '') {
      return this.prompt;
    }
    if (PROSE_NAME.test(name)) {
      return writeSentence(this.conversation, this.sentences++);
    }
    if (DATE_NAME.test(name)) {
      return (DATE.exec(this.prompt) ?? WEEKDAY.exec(this.prompt))?.[0] ?? '2030-01-01';
    }
    const named = PLACE_NAME.test(name)
      ? (this.places ??= placesFirst(this.prompt))
      : (this.names ??= readNames(this.prompt));
    return named[variant] ?? named.at(-1) ?? readTopic(this.prompt) ?? propertyName.replaceAll('_', ' ');
  }

  number(_propertyName: string, variant: number): number | undefined {
    this.numbers ??= (this.prompt.match(/(?<![\p{L}\d.])-?\d{1,9}(?:\.\d{1,6})?/gu) ?? []).map(Number);
    return this.numbers[variant];
  }

  /** The first of the values that the prompt mentions. */
  choose(values: readonly unknown[]): number {
    return values.findIndex(
      (value) => typeof value === 'string' && value !== '' && this.lowerPrompt.includes(value.toLowerCase()),
    );
  }
}

/** Puts names after a preposition of place, as in "the weather in New York", before the other names. */
function placesFirst(prompt: string): string[] {
  const places = prompt.matchAll(
    /\b(?:in|at|near|to|from|for|of) (\p{Lu}[\p{L}\p{M}'’-]*(?: \p{Lu}[\p{L}\p{M}'’-]*){0,2})/gu,
  );
  return [...new Set([...Array.from(places, ([, place = '']) => place), ...readNames(prompt)])];
}
