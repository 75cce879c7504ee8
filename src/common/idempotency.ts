/** A request's wish to run once: claimed in the transaction that holds its money. */
export interface IdempotencyClaim {
  /** Operation id of the document: the same key on another operation is another claim. */
  readonly operation: string;
  /** The `Idempotency-Key`: 1 to 255 visible ASCII characters. */
  readonly key: string;
  /** SHA-256 of what is asked, in hexadecimal. */
  readonly fingerprint: string;
  /** What may have happened when its owner dies must not happen again: the key then answers 500 instead of being free. */
  readonly atMostOnce: boolean;
}

/** What a claimed key answers from now on: written in the transaction that ends the hold. */
export interface IdempotencyCompletion {
  readonly status: number;
  readonly contentType: string;
  /** Response headers that a replay repeats. Without `x-llm-cost-micro` the charge becomes that. */
  readonly headers: Readonly<Record<string, string>>;
  /** `false`: the answer was too long to be kept, so a retry is told that there is none to repeat. */
  readonly bodyStored: boolean;
}
