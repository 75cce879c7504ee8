import { Validate, type ValidationArguments, ValidatorConstraint } from 'class-validator';
import type { LocatingConstraint } from '../../../core/validation/locating-constraint';

/** One string, alone or as the only item of a list. */
export function IsPrompt(): PropertyDecorator {
  return Validate(PromptRule);
}

@ValidatorConstraint({ name: 'isPrompt' })
class PromptRule implements LocatingConstraint {
  validate(prompt: unknown): boolean {
    return reasonAgainst(prompt) === null;
  }

  locate(prompt: unknown): string {
    return Array.isArray(prompt) && prompt.length === 1 && !isTokens(prompt[0]) ? '[0]' : '';
  }

  defaultMessage({ value }: ValidationArguments): string {
    return reasonAgainst(value) ?? '';
  }
}

function reasonAgainst(prompt: unknown): string | null {
  if (typeof prompt === 'string') return null;
  if (!Array.isArray(prompt) || prompt.length === 0) return '$property must be a string or an array of one string';
  if (prompt.some(isTokens)) return '$property must be text: token ids are not supported';
  if (prompt.length > 1) return '$property must be one string: several prompts are not supported';
  return typeof prompt[0] === 'string' ? null : '$property must be a string';
}

/** Whether the item is a token id or a list of token ids. */
function isTokens(item: unknown): boolean {
  return typeof item === 'number' || (Array.isArray(item) && item.every((token) => typeof token === 'number'));
}
