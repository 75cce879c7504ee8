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

/**
 * Returns the focus to the element that opened a modal. If that element is removed, such as the button of an action
 * that cannot be repeated, the heading takes the focus; otherwise the next Tab would start at the top of the page.
 */
export function returnFocus(opener: HTMLElement): void {
  opener.focus();
  const observer = new MutationObserver(check);
  observer.observe(document.body, { childList: true, subtree: true });
  check();

  function check(): void {
    if (document.activeElement === opener) return;
    observer.disconnect();
    if (!opener.isConnected && document.activeElement === document.body) document.querySelector('h1')?.focus();
  }
}
