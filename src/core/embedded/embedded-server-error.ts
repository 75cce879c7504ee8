/** An embedded server cannot run. The message says why, or where its log is. */
export class EmbeddedServerError extends Error {
  override readonly name = 'EmbeddedServerError';
}
