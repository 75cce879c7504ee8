/** A mail address and the name that goes with it; `''`: none. */
export interface Mailbox {
  readonly name: string;
  readonly address: string;
}
