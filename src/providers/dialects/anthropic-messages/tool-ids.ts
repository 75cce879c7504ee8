import { createHash } from 'node:crypto';

/** The upstream refuses all other ids. */
const ACCEPTED = /^[a-zA-Z0-9_-]+$/;

/**
 * The upstream's ids of the tool calls of one conversation. They allow fewer characters than other vendors' ids and
 * must be unique, while some clients number the calls of each answer from zero. The same conversation always gets the
 * same ids.
 */
export class ToolIds {
  /** By the client's id: the upstream's id of the latest call with that id. */
  private readonly latest = new Map<string, string>();
  private readonly taken = new Set<string>();

  /** Assigns the id of a call. Must be called in the order of the conversation. */
  assignId(clientId: string): string {
    const base = ACCEPTED.test(clientId) ? clientId : escape(clientId);
    let id = base;
    for (let count = 2; this.taken.has(id); count++) id = `${base}_${count}`;
    this.taken.add(id);
    this.latest.set(clientId, id);
    return id;
  }

  /** The id of the call that a result belongs to. */
  find(clientId: string): string | undefined {
    return this.latest.get(clientId);
  }
}

function escape(clientId: string): string {
  const digest = createHash('sha256').update(clientId).digest('hex').slice(0, 12);
  return `${clientId.replaceAll(/[^a-zA-Z0-9_-]/g, '_').slice(0, 48)}_${digest}`;
}
