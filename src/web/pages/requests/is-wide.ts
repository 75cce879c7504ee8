/** Whether a receipt has room next to the list; the width of `request-panel.tsx`. */
export function isWide(): boolean {
  return window.matchMedia('(min-width: 80rem)').matches;
}
