interface HeldInvitation {
  readonly token: string;
  readonly email: string;
}

let held: HeldInvitation | null = null;

/** Keeps the token of an invitation in memory while its holder registers. */
export function holdInvitation(invitation: HeldInvitation): void {
  held = invitation;
}

/** The invitation with which a visitor came to register. */
export function invitedWith(): HeldInvitation | null {
  return held;
}
