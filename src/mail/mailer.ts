/** A mail in plain text. What is in it may open an account: it is logged nowhere but where there is no other way to read it. */
export interface Mail {
  /** One address, already judged by `common/email-address`. */
  readonly to: string;
  readonly subject: string;
  readonly text: string;
}

/** Sends mails. Call it after the commit of what the mail tells of. */
export abstract class Mailer {
  /**
   * Takes over a mail and returns: it is sent in the background, so that neither the server of mails nor its failure
   * shows in the time or the answer of a request.
   * @throws GatewayError `not_configured`
   */
  abstract send(mail: Mail): Promise<void>;

  /**
   * For operations that make no sense without a mail, before they change anything.
   * @throws GatewayError `not_configured`
   */
  assertConfigured(): void {}
}
