let isWanted = false;

/**
 * After a navigation, and after a form that another text replaces, the heading of the page gets the focus, which also
 * announces the page.
 */
export function wantHeadingFocus(): void {
  isWanted = true;
}

/** Called when a heading has appeared, which may be some time after the navigation, when the page has loaded. */
export function giveHeadingFocus(heading: HTMLElement | null): void {
  if (!isWanted || heading === null) return;
  isWanted = false;
  heading.focus();
}
