/** An idempotency claim, made in the transaction of the hold. */
export interface IdempotencyClaim {
  /** Operation id of the document: the same key on another operation is a separate claim. */
  readonly operation: string;
  /** The `Idempotency-Key`: 1 to 255 visible ASCII characters. */
  readonly key: string;
  /** SHA-256 fingerprint of the request, in hexadecimal. */
  readonly fingerprint: string;
  /** Run at most once: after the owner's death the key returns 500 instead of becoming free. */
  readonly atMostOnce: boolean;
}

/** The stored response of a key, written in the transaction that ends the hold. */
export interface IdempotencyCompletion {
  readonly status: number;
  readonly contentType: string;
  /** Response headers that a replay repeats. Without `x-llm-cost-micro` the charge is used for it. */
  readonly headers: Readonly<Record<string, string>>;
  /** `false`: the response was too long to store, so a retry gets 409. */
  readonly bodyStored: boolean;
}
