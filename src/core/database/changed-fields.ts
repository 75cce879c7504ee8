/** The changed fields between two states, for the audit log; both sides are empty when nothing changed. */
export function changedFields<State extends object>(
  before: State,
  after: State,
): { readonly before: Partial<State>; readonly after: Partial<State> } {
  const names = (Object.keys(after) as (keyof State)[]).filter(
    (name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]),
  );
  const pick = (state: State): Partial<State> =>
    Object.fromEntries(names.map((name) => [name, state[name]])) as Partial<State>;
  return { before: pick(before), after: pick(after) };
}
