const BROWSERS = [
  ['Edge', /\bEdg/],
  ['Opera', /\bOPR\//],
  ['Firefox', /\b(?:Firefox|FxiOS)\//],
  ['Chrome', /\b(?:Chrome|CriOS|HeadlessChrome)\//],
  ['Safari', /\bSafari\//],
] as const;
const SYSTEMS = [
  ['Android', /\bAndroid\b/],
  ['iOS', /\b(?:iPhone|iPad)\b/],
  ['Windows', /\bWindows\b/],
  ['macOS', /\bMac OS X\b/],
  ['Linux', /\bLinux\b/],
] as const;

/** `Firefox on Linux` for the user agent of a browser; its text for others. */
export function describeUserAgent(text: string | null): string {
  if (text === null) return 'unknown';
  const [browser] = BROWSERS.find(([, pattern]) => pattern.test(text)) ?? [];
  const [system] = SYSTEMS.find(([, pattern]) => pattern.test(text)) ?? [];
  if (browser === undefined) return text;
  return system === undefined ? browser : `${browser} on ${system}`;
}
