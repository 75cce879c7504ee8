/** A mail address with a display name; `''`: no name. */
export interface Mailbox {
  readonly name: string;
  readonly address: string;
}
