import { Matches } from 'class-validator';
import { CodePointLength } from '../../core/validation/code-points';
import { HTTPS_URL } from '../../contract/patterns';

/** The document's `TestWebhookRequest`. */
export class TestWebhookRequestDto {
  @CodePointLength(9, 2_048)
  @Matches(HTTPS_URL, { message: '$property must be an https URL' })
  url!: string;
}
