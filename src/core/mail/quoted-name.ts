/** Punctuation that makes a word look like a URL when it stands between two characters. */
const LINKING_PUNCTUATION = /(?<=\S)[.:/@](?=\S)/gu;

/**
 * A user-chosen name for use in a mail: in quotation marks that it cannot close, and with invisible spaces that prevent
 * automatic links.
 */
export function quotedName(name: string): string {
  return `"${name.replaceAll('"', "'").replace(LINKING_PUNCTUATION, '$&\u200B')}"`;
}
