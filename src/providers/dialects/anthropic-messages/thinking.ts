import type { ModelFeatures } from '../../contract/provider-call';
import { unsupported } from '../../kit/unsupported';
import type { Effort, Thinking } from './messages-format';

/** The minimum and the default budget of models without adaptive thinking, in tokens. */
const LEAST_BUDGET = 1_024;
const BUDGETS: Readonly<Record<string, number>> = {
  minimal: LEAST_BUDGET,
  low: LEAST_BUDGET,
  medium: 4_096,
  high: 16_384,
  xhigh: 32_768,
  max: 65_536,
};
const EFFORTS: ReadonlyMap<string, Effort> = new Map([
  ['minimal', 'low'],
  ['low', 'low'],
  ['medium', 'medium'],
  ['high', 'high'],
  ['xhigh', 'xhigh'],
  ['max', 'max'],
]);

export interface Reasoning {
  readonly thinking?: Thinking;
  readonly effort?: Effort;
}

/** The parts of a request that decide about its reasoning. */
export interface ReasoningRequest {
  readonly effort: unknown;
  /** The request forces a tool call. */
  readonly forced: boolean;
  readonly maxTokens: number;
}

/**
 * Maps `reasoning_effort` to the parameters of the model (catalogue feature `thinking`); see
 * https://platform.claude.com/docs/en/build-with-claude/thinking. Newer models return no thinking text unless a summary
 * is requested. A forced tool call excludes thinking
 * (https://platform.claude.com/docs/en/agents-and-tools/tool-use/define-tools), whatever the effort.
 * @throws ProviderError `validation_failed` for an effort that the model does not have
 */
export function toReasoning({ effort, forced, maxTokens }: ReasoningRequest, features: ModelFeatures): Reasoning {
  const wanted = typeof effort === 'string' ? effort : null;
  checkEffort(wanted, features);
  if (forced) return features.thinking === 'default' ? { thinking: { type: 'disabled' } } : {};
  if (wanted === 'none') {
    return { thinking: { type: features.thinking === 'between_tools' ? 'between_tools' : 'disabled' } };
  }
  if (features.thinking === 'budget') return wanted === null ? {} : { thinking: toBudget(wanted, maxTokens) };
  if (wanted === null && !thinksUnasked(features)) return {};
  const thinking: Thinking = { type: 'adaptive', display: 'summarized' };
  return wanted === null ? { thinking } : { thinking, effort: EFFORTS.get(wanted) };
}

/** Whether the model reasons in this request; it then refuses sampling parameters and reads earlier reasoning. */
export function isThinking({ thinking }: Reasoning): boolean {
  return thinking !== undefined && thinking.type !== 'disabled';
}

function thinksUnasked({ thinking }: ModelFeatures): boolean {
  return thinking === 'always' || thinking === 'default' || thinking === 'between_tools';
}

function checkEffort(effort: string | null, { reasoning, thinking }: ModelFeatures): void {
  if (effort === null) return;
  const known = reasoning?.includes(effort) ?? (effort === 'none' ? thinking !== 'always' : EFFORTS.has(effort));
  if (known) return;
  const accepted = reasoning === undefined ? [...EFFORTS.keys()] : reasoning;
  const list = accepted.length === 0 ? 'none of its values' : accepted.join(', ');
  throw unsupported('reasoning_effort', `This model accepts as reasoning_effort: ${list}.`);
}

/** At most half of the limit, to leave room for the answer. */
function toBudget(effort: string, maxTokens: number): Thinking {
  const budget = Math.max(LEAST_BUDGET, Math.min(BUDGETS[effort] ?? LEAST_BUDGET, Math.floor(maxTokens / 2)));
  if (budget < maxTokens) return { type: 'enabled', budget_tokens: budget };
  throw unsupported('reasoning_effort', `With this model reasoning needs max_tokens above ${LEAST_BUDGET}.`);
}
