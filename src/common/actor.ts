/** `operator`: staff of the platform; `command`: whoever has a shell on the server; `system`: the gateway by itself. */
export type ActorKind = 'user' | 'operator' | 'command' | 'system';

/** Who makes a change, for the audit log. */
export interface Actor {
  readonly kind: ActorKind;
  /** Set for users and operators. */
  readonly userId: string | null;
  /** The client's address. */
  readonly address: string | null;
  /** `req_…` of the request that asks for it. */
  readonly requestId: string | null;
}

export const COMMAND_LINE: Actor = { kind: 'command', userId: null, address: null, requestId: null };
export const SYSTEM: Actor = { kind: 'system', userId: null, address: null, requestId: null };
