import { IsEmailAddress } from './account-fields';

/** Asks for a mail: the document's `EmailRequest`. */
export class EmailRequestDto {
  @IsEmailAddress()
  email!: string;
}
