import { setTimeout as delay } from 'node:timers/promises';
import { sound } from './behaviours';
import { call, type CallOutcome, type Target } from './client-call';
import { COST_MICRO, type GatewayUnderTest } from './gateway-under-test';
import type { Expectation, Row } from './rows';
import type { ScriptedProvider } from './scripted-provider';

export interface Setting {
  readonly target: Target;
  readonly first: ScriptedProvider;
  readonly second: ScriptedProvider;
  /** `null`: another gateway, whose charges and codes are unknown. */
  readonly gateway: GatewayUnderTest | null;
  /** Parallel calls of each kind. */
  readonly lanes: number;
  /** Added to every time limit, for a busy machine. */
  readonly slackMs: number;
}

export interface RowResult {
  readonly name: string;
  /** Number of calls by status and code, such as `200 ×4`. */
  readonly answers: string;
  readonly complete: string;
  readonly servedBy: string;
  readonly longestMs: number;
  /** `null`: unknown. */
  readonly chargedMicro: number | null;
  /** From the end of the failure until the first provider serves; `null`: not within the wait. */
  readonly recoveryMs: number | null;
  /** Deviations from the expectation; empty: passed. */
  readonly problems: readonly string[];
}

const PROBE_PAUSE_MS = 100;
/** For gateways whose recovery time is unknown. */
const LONGEST_RECOVERY_MS = 90_000;

/** Lets the providers fail, calls the gateway, heals the providers, and compares with the expectation. */
export async function runRow(row: Row, setting: Setting): Promise<RowResult> {
  const { first, second, gateway } = setting;
  const chargedBefore = (await gateway?.chargedMicro()) ?? 0;
  await Promise.all([first.become(row.first), second.become(row.second)]);
  const outcomes = await callAll(row, setting);
  await Promise.all([first.become(sound), second.become(sound)]);
  const healedAtMs = performance.now();
  const chargedMicro = gateway === null ? null : (await gateway.chargedMicro()) - chargedBefore;
  const waitMs = gateway === null ? LONGEST_RECOVERY_MS : row.expectation.recoversWithinMs + setting.slackMs;
  const recoveryMs = await untilRecovered(setting, healedAtMs, waitMs);
  const problems = [
    ...outcomes.flatMap((outcome) => problemsOf(outcome, row.expectation, setting)),
    ...(chargedMicro === null ? [] : chargeProblems(outcomes, row.expectation, chargedMicro)),
    ...(recoveryMs === null ? [`the first provider did not serve again within ${waitMs} ms`] : []),
  ];
  return {
    name: row.name,
    answers: countBy(outcomes, ({ status, code }) => (code === null ? String(status) : `${status} ${code}`)),
    complete: countBy(outcomes, ({ isComplete, isBroken }) => completeness(isComplete, isBroken)),
    servedBy: countBy(outcomes, serverOf),
    longestMs: Math.round(Math.max(...outcomes.map(({ tookMs }) => tookMs))),
    chargedMicro,
    recoveryMs,
    problems: [...new Set(problems)],
  };
}

async function callAll({ kinds, callsInSequence }: Row, { target, lanes }: Setting): Promise<CallOutcome[]> {
  const lane = async (streamed: boolean): Promise<CallOutcome[]> => {
    const outcomes: CallOutcome[] = [];
    for (let index = 0; index < callsInSequence; index++) outcomes.push(await call(target, streamed));
    return outcomes;
  };
  const all = kinds.flatMap((kind) => Array.from({ length: lanes }, () => lane(kind === 'stream')));
  return (await Promise.all(all)).flat();
}

async function untilRecovered({ target }: Setting, healedAtMs: number, waitMs: number): Promise<number | null> {
  for (;;) {
    const outcome = await call(target, false);
    const sinceMs = performance.now() - healedAtMs;
    if (outcome.isComplete && serverOf(outcome) === 'first') return Math.round(sinceMs);
    if (sinceMs > waitMs) return null;
    await delay(PROBE_PAUSE_MS);
  }
}

function problemsOf(outcome: CallOutcome, expectation: Expectation, { gateway, slackMs }: Setting): string[] {
  const { status, code, isComplete, isBroken, hasRetryAfter, tookMs } = outcome;
  const problems: string[] = [];
  const server = serverOf(outcome);
  if (!expectation.status.includes(status)) problems.push(`status ${status}`);
  if (isComplete !== expectation.isComplete) problems.push(isComplete ? 'an answer passed as complete' : 'no answer');
  if (isBroken) problems.push('the connection broke without an error');
  const { servedBy } = expectation;
  if (servedBy !== null && server !== servedBy && servedBy !== 'either') problems.push(`served by ${server}`);
  if (tookMs > expectation.withinMs + slackMs) problems.push(`took ${Math.round(tookMs)} ms`);
  if (gateway === null) return problems;
  const isKnown = code === null ? expectation.codes.length === 0 : expectation.codes.includes(code);
  if (!isKnown) problems.push(`code ${code}`);
  if (expectation.hasRetryAfter === true && !hasRetryAfter) problems.push('no Retry-After');
  return problems;
}

function chargeProblems(outcomes: readonly CallOutcome[], { charge }: Expectation, chargedMicro: number): string[] {
  const [least, most] = {
    nothing: () => [0, 0],
    'price of the server': () => {
      const sum = outcomes.reduce((total, outcome) => total + priceOf(outcome), 0);
      return [sum, sum];
    },
    'a part': () => [1, outcomes.length * COST_MICRO.hold],
    'at most the hold': () => [outcomes.length, outcomes.length * COST_MICRO.hold],
  }[charge]() as [number, number];
  if (chargedMicro >= least && chargedMicro <= most) return [];
  return [`charged ${chargedMicro} micro instead of ${least === most ? least : `${least} to ${most}`}`];
}

function priceOf(outcome: CallOutcome): number {
  const server = serverOf(outcome);
  return outcome.isComplete && server !== 'none' ? COST_MICRO[server] : 0;
}

function serverOf({ text }: CallOutcome): 'first' | 'second' | 'none' {
  if (text.includes('first')) return 'first';
  return text.includes('second') ? 'second' : 'none';
}

function completeness(isComplete: boolean, isBroken: boolean): string {
  if (isComplete) return 'complete';
  return isBroken ? 'broken' : 'error';
}

function countBy(outcomes: readonly CallOutcome[], keyOf: (outcome: CallOutcome) => string): string {
  const counts = new Map<string, number>();
  for (const outcome of outcomes) counts.set(keyOf(outcome), (counts.get(keyOf(outcome)) ?? 0) + 1);
  return [...counts].map(([key, count]) => `${key} ×${count}`).join(', ');
}
