/** One issue of a refused body. */
export interface ValidationIssue {
  /** JSON path of the offending value, for example `messages[2].content[0].text`; empty for the body itself. */
  readonly param: string;
  /** Public; names the field, never its value. */
  readonly message: string;
}

/** `a` and `b` to `a.b`, `a` and `[0]` to `a[0]`. */
export function joinPath(parent: string, child: string): string {
  if (child === '') return parent;
  return parent === '' || child.startsWith('[') ? parent + child : `${parent}.${child}`;
}
