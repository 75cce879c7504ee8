/** Headers of every page. Only scripts and styles of this origin run, and no other page may frame or open this one. */
const PAGE_HEADERS: Readonly<Record<string, string>> = {
  'cache-control': 'private, no-cache',
  vary: 'Accept-Encoding, Accept, Cookie',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), payment=(), usb=(), microphone=(self)',
};

/**
 * @param storageOrigin the origin of signed output URLs, from which pages show images and play audio; null without
 *   storage.
 */
export function pageHeaders(storageOrigin: string | null): Readonly<Record<string, string>> {
  const media = ["'self'", 'blob:', ...(storageOrigin === null ? [] : [storageOrigin])].join(' ');
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    `img-src ${media}`,
    `media-src ${media}`,
    "manifest-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ');
  return { ...PAGE_HEADERS, 'content-security-policy': policy };
}

/** A year: the name of an asset changes with its content. */
export const ASSET_HEADERS: Readonly<Record<string, string>> = {
  'cache-control': 'public, max-age=31536000, immutable',
  vary: 'Accept-Encoding',
  'x-content-type-options': 'nosniff',
  'cross-origin-resource-policy': 'same-origin',
};
