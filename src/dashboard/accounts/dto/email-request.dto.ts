import { IsEmailAddress } from './account-fields';

/** Requests a mail: the document's `EmailRequest`. */
export class EmailRequestDto {
  @IsEmailAddress()
  email!: string;
}
