const PREFIX = 'draft ';

/** Where the storage of the tab keeps a draft of a user. */
export function draftKey(userId: string, name: string): string {
  return `${PREFIX}${userId} ${name}`;
}

/** When a user signs in: what another user of the tab has typed is not theirs to see. */
export function forgetDraftsOfOthers(userId: string): void {
  const others = Object.keys(sessionStorage).filter(
    (key) => key.startsWith(PREFIX) && !key.startsWith(draftKey(userId, '')),
  );
  for (const key of others) sessionStorage.removeItem(key);
}
