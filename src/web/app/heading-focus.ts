let wanted: FocusOptions | null = null;

/** When a text replaces a form, the heading of the page gets the focus, which also announces the text. */
export function wantHeadingFocus(): void {
  wanted = {};
}

/**
 * After a navigation, the heading gets the focus, which also announces the page, without scrolling: the router shows
 * the top of a new page, and after Back what was in view before.
 */
export function wantHeadingFocusInPlace(): void {
  wanted = { preventScroll: true };
}

/** Called when a heading has appeared, which may be some time after the navigation, when the page has loaded. */
export function giveHeadingFocus(heading: HTMLElement | null): void {
  if (wanted === null || heading === null) return;
  heading.focus(wanted);
  wanted = null;
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
