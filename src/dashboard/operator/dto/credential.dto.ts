import { CodePointLength } from '../../../core/validation/code-points';

/** The document's `CredentialUpdate`. */
export class CredentialUpdateDto {
  @CodePointLength(1, 4096)
  value!: string;
}
