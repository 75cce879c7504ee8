import type { UpstreamHttp } from '../../kit/upstream-http';

/** Request targets of one method, whose path contains the model. */
export class ModelEndpoints {
  private readonly byModel = new Map<string, string>();

  /** @param query without a question mark */
  constructor(
    private readonly http: Pick<UpstreamHttp, 'endpoint'>,
    private readonly method: string,
    private readonly query?: string,
  ) {}

  /** @param model from the catalogue, as `gemini-…` or as a resource name */
  of(model: string): string {
    let target = this.byModel.get(model);
    if (target === undefined) {
      target = this.http.endpoint(
        `${toResourceName(model).split('/').map(encodeURIComponent).join('/')}:${this.method}`,
      );
      if (this.query !== undefined) target += `${target.includes('?') ? '&' : '?'}${this.query}`;
      this.byModel.set(model, target);
    }
    return target;
  }
}

export function toResourceName(model: string): string {
  return model.includes('/') ? model : `models/${model}`;
}
