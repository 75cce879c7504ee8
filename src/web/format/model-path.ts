/** The parts of a model id, which is `<vendor>/<name>`, in a path of the dashboard. */
export interface ModelPath {
  readonly vendor: string;
  readonly name: string;
}

export function modelPath(id: string): ModelPath {
  const slash = id.indexOf('/');
  return { vendor: id.slice(0, slash), name: id.slice(slash + 1) };
}
