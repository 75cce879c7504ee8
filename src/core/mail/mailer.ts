/** A mail in plain text. Its text may grant access to an account: it is logged only by the file mailer. */
export interface Mail {
  /** One address, validated by `parseEmailAddress`. */
  readonly to: string;
  readonly subject: string;
  readonly text: string;
}

/** Where mails go: to a mail server, into a folder of this machine (absolute path), or nowhere. */
export type MailDestination =
  { readonly kind: 'server' } | { readonly kind: 'folder'; readonly path: string } | { readonly kind: 'none' };

/** Sends mails. Call `send` after the commit of the change that the mail reports. */
export abstract class Mailer {
  abstract readonly destination: MailDestination;

  /**
   * Queues a mail to be sent in the background, so that the mail server affects neither the latency nor the outcome of
   * a request.
   * @throws GatewayError `not_configured`
   */
  abstract send(mail: Mail): Promise<void>;

  /**
   * Sends a mail immediately, for callers that retry on their own.
   * @returns `false`: the server rejects the mail permanently.
   * @throws when the mail was not sent and a retry may succeed.
   */
  async deliver(mail: Mail): Promise<boolean> {
    await this.send(mail);
    return true;
  }

  /**
   * Call it before an operation that needs a mail changes anything.
   * @throws GatewayError `not_configured`
   */
  assertConfigured(): void {}
}
