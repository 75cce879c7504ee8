/**
 * The fields of a validated body that are sent to providers, without gateway-only fields (contract section 1, decision
 * *unknown-fields*) and without nulls, which mean absent but which some upstreams reject. Copies the body only when a
 * field is dropped.
 */
export function providerFields<Body extends object>(body: Body): Body {
  for (const field in body) {
    if (isGatewayOnly(field, body[field])) {
      return Object.fromEntries(Object.entries(body).filter(([name, value]) => !isGatewayOnly(name, value))) as Body;
    }
  }
  return body;
}

function isGatewayOnly(field: string, value: unknown): boolean {
  return value === null || field === 'routing' || field.startsWith('x_');
}
