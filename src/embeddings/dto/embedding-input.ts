import { Validate, ValidatorConstraint } from 'class-validator';
import type { LocatingConstraint } from '../../common/validation/locating-constraint';

/** As many as any vendor takes at once. */
const MAX_INPUTS = 2_048;

/** A text, a list of texts, the token ids of one text, or those of several; none of them empty. */
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
    return input.length > 0 && input.length <= MAX_INPUTS && input.every(checkFor(input));
  }

  locate(input: unknown): string {
    if (!Array.isArray(input) || input.length > MAX_INPUTS) return '';
    const index = input.findIndex((item) => !checkFor(input)(item));
    return index === -1 ? '' : `[${index}]`;
  }

  defaultMessage(): string {
    return `$property must be a text, 1 to ${MAX_INPUTS} texts, or token ids of one or of as many texts, none of them empty`;
  }
}

/** The first item says what the others have to be. */
function checkFor([first]: readonly unknown[]): Check {
  if (typeof first === 'number') return isTokenId;
  return Array.isArray(first) ? isTokenList : isText;
}
