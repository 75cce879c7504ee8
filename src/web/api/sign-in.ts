const listeners = new Set<() => void>();

/** Calls the listener when a user signs in on the sign-in page: nothing in memory may be of another user. */
export function whenSignedIn(listener: () => void): void {
  listeners.add(listener);
}

export function announceSignIn(): void {
  for (const listener of listeners) listener();
}
