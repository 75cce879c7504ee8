import { Validate, type ValidationArguments, ValidatorConstraint } from 'class-validator';
import type { LocatingConstraint } from '../../../core/validation/locating-constraint';

/** The largest batch that any vendor accepts. */
const MAX_INPUTS = 2_048;

/** A text, a list of texts, the token ids of one text, or a list of such token ids; none may be empty. */
export function IsEmbeddingInput(): PropertyDecorator {
  return Validate(EmbeddingInputRule);
}

type Check = (item: unknown) => boolean;

const isText: Check = (item) => typeof item === 'string' && item !== '';
const isTokenId: Check = (item) => Number.isInteger(item) && (item as number) >= 0;
const isTokenList: Check = (item) => Array.isArray(item) && item.length > 0 && item.every(isTokenId);

@ValidatorConstraint({ name: 'isEmbeddingInput' })
class EmbeddingInputRule implements LocatingConstraint {
  validate(input: unknown): boolean {
    if (!Array.isArray(input)) return isText(input);
    return input.length > 0 && !hasTooManyInputs(input) && input.every(checkFor(input));
  }

  locate(input: unknown): string {
    if (!Array.isArray(input) || hasTooManyInputs(input)) return '';
    const index = input.findIndex((item) => !checkFor(input)(item));
    return index === -1 ? '' : `[${index}]`;
  }

  defaultMessage({ value }: ValidationArguments): string {
    if (Array.isArray(value) && this.locate(value) !== '') return `$property must be ${itemTypeOf(value)}`;
    return `$property must be a string, 1 to ${MAX_INPUTS} strings, or token ids of one or as many texts, none empty`;
  }
}

/** Describes the type that every item must have, which the first item determines. */
function itemTypeOf([first]: readonly unknown[]): string {
  if (typeof first === 'string') return 'a string that is not empty';
  if (typeof first === 'number') return 'a token id, a non-negative integer';
  if (Array.isArray(first)) return 'a list of token ids that is not empty';
  return 'a string, a token id or a list of token ids';
}

/** A list of token ids is one input, whatever its length. */
function hasTooManyInputs(list: readonly unknown[]): boolean {
  return list.length > MAX_INPUTS && typeof list[0] !== 'number';
}

/** The check for every item, determined by the type of the first. */
function checkFor([first]: readonly unknown[]): Check {
  if (typeof first === 'number') return isTokenId;
  return Array.isArray(first) ? isTokenList : isText;
}
