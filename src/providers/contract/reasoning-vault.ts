/**
 * Keeps opaque reasoning (signed thinking blocks, thought signatures, encrypted items) that a provider must get back
 * with the results of its tool calls, although chat clients drop it. Scoped to the organization and the deployment of a
 * call.
 */
export interface ReasoningVault {
  /**
   * Stores the state under the first tool-call id of an answer, before the client sees the end of the answer. Never
   * rejects: if storing fails, the next call is sent without its reasoning.
   * @param state JSON that only the dialect reads
   */
  store(toolCallId: string, state: string): Promise<void>;
  /** The states that are still kept, by tool call id. Never rejects. */
  load(toolCallIds: readonly string[]): Promise<ReadonlyMap<string, string>>;
}
