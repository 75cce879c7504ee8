/**
 * The fields of a validated body that providers see. What is for the gateway alone never reaches one (contract section 1,
 * decision *unknown-fields*), and null means the same as absent, which not every upstream knows. Copied only when there is
 * something to leave out.
 */
export function providerFields<Body extends object>(body: Body): Body {
  for (const field in body) {
    if (staysHere(field, body[field])) {
      return Object.fromEntries(Object.entries(body).filter(([name, value]) => !staysHere(name, value))) as Body;
    }
  }
  return body;
}

function staysHere(field: string, value: unknown): boolean {
  return value === null || field === 'routing' || field.startsWith('x_');
}
