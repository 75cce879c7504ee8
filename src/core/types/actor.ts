/** `operator`: platform staff; `command`: a user with a shell on the server; `system`: the gateway itself. */
export type ActorKind = 'user' | 'operator' | 'command' | 'system';

/** The author of a change, for the audit log. */
export interface Actor {
  readonly kind: ActorKind;
  /** Set for users and operators. */
  readonly userId: string | null;
  /** The client's IP address. */
  readonly address: string | null;
  /** `req_…` of the request. */
  readonly requestId: string | null;
}

export const COMMAND_LINE: Actor = { kind: 'command', userId: null, address: null, requestId: null };
export const SYSTEM: Actor = { kind: 'system', userId: null, address: null, requestId: null };
