import type { ReasoningVault } from '../../src/providers/contract/reasoning-vault';

/** A vault in memory that records which ids were requested. */
export class MemoryVault implements ReasoningVault {
  readonly states = new Map<string, string>();
  readonly loaded: (readonly string[])[] = [];

  store(toolCallId: string, state: string): Promise<void> {
    this.states.set(toolCallId, state);
    return Promise.resolve();
  }

  load(toolCallIds: readonly string[]): Promise<ReadonlyMap<string, string>> {
    this.loaded.push(toolCallIds);
    const found = toolCallIds.flatMap((id) => {
      const state = this.states.get(id);
      return state === undefined ? [] : [[id, state] as const];
    });
    return Promise.resolve(new Map(found));
  }
}
