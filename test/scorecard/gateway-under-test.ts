/** This gateway as users start it, with two scripted providers, one customer and a view of its ledger. */
import { readFileSync, rmSync, writeFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { endChildren } from '../harness/child-process';
import {
  createDataDirectory,
  GatewayProcess,
  type GatewayProcessSettings,
  runCommand,
} from '../harness/gateway-process';
import { MAX_OUTPUT_TOKENS, type Target } from './client-call';
import { USAGE } from './behaviours';
import type { KnownSettings } from './rows';

/** The providers' base URLs. */
interface Upstreams {
  readonly first: string;
  readonly second: string;
}

const MODEL = 'local/scorecard';
const CREDIT_MICRO = 1_000_000_000;
/** Micro-units per token, prompt and output alike. The model's own price must never be charged. */
const PRICE_MICRO = { first: 100, second: 300, model: 7_000 };
const TOKENS = USAGE.prompt_tokens + USAGE.completion_tokens;
/** More than the prompt's estimate. */
const MAX_PROMPT_TOKENS = 100;
const SETTLE_WITHIN_MS = 15_000;

/** Cost of a sound answer of each provider, and the most that one call can hold. */
export const COST_MICRO = {
  first: TOKENS * PRICE_MICRO.first,
  second: TOKENS * PRICE_MICRO.second,
  hold: (MAX_PROMPT_TOKENS + MAX_OUTPUT_TOKENS) * PRICE_MICRO.second,
};

export class GatewayUnderTest {
  private constructor(
    readonly target: Target,
    private readonly settings: GatewayProcessSettings,
    private readonly gateway: GatewayProcess,
    private readonly database: Client,
    private readonly organizationId: string,
    private readonly remove: () => void,
  ) {}

  static async start(upstreams: Upstreams, known: KnownSettings): Promise<GatewayUnderTest> {
    const directory = createDataDirectory();
    const catalogDir = join(directory.path, 'catalog');
    mkdirSync(catalogDir);
    writeFileSync(join(catalogDir, 'scorecard.json'), JSON.stringify([catalogEntry()]));
    const settings = {
      dataDir: join(directory.path, 'data'),
      catalogDir,
      environment: {
        OPENAI_COMPATIBLE_BASE_URL: upstreams.first,
        OPENAI_BASE_URL: upstreams.second,
        OPENAI_API_KEY: 'scripted',
        UPSTREAM_FIRST_TOKEN_TIMEOUT_MS: String(known.upstreamTimeoutMs),
        UPSTREAM_REPLY_TIMEOUT_MS: String(known.upstreamTimeoutMs),
        UPSTREAM_IDLE_TIMEOUT_MS: String(known.upstreamTimeoutMs),
        CIRCUIT_BREAKER_FAILURES: '5',
        CIRCUIT_BREAKER_OPEN_MS: String(known.breakerOpenMs),
      },
    };
    const gateway = await GatewayProcess.start(settings);
    const organizationId = field(await command(settings, 'org', 'create', '--name', 'scorecard', '--json'), 'id');
    const credit = ['--amount-micro', String(CREDIT_MICRO), '--ref', 'scorecard', '--json'];
    await command(settings, 'org', 'credit', '--org', organizationId, ...credit);
    const apiKey = field(await command(settings, 'key', 'create', '--org', organizationId, '--json'), 'key');
    const { databaseUrl } = JSON.parse(readFileSync(join(settings.dataDir, 'services.json'), 'utf8')) as {
      databaseUrl: string;
    };
    const database = new Client(databaseUrl);
    await database.connect();
    const target = { baseUrl: `${gateway.url}/v1`, apiKey, model: MODEL };
    const remove = (): void => rmSync(directory.path, { recursive: true, force: true });
    return new GatewayUnderTest(target, settings, gateway, database, organizationId, remove);
  }

  /** Micro-units charged so far, once nothing is held any more. @throws Error when holds remain. */
  async chargedMicro(): Promise<number> {
    const deadlineMs = performance.now() + SETTLE_WITHIN_MS;
    for (;;) {
      const { rows } = await this.database.query<{ balance: string; held: string }>(
        'SELECT balance_micro AS balance, reserved_micro AS held FROM organization_account WHERE organization_id = $1',
        [this.organizationId],
      );
      if (Number(rows[0]?.held) === 0) return CREDIT_MICRO - Number(rows[0]?.balance);
      if (performance.now() > deadlineMs) throw new Error(`holds remain after ${SETTLE_WITHIN_MS / 1_000} s`);
      await delay(20);
    }
  }

  /** Whether `ledger verify` finds no violation. */
  async hasCleanBooks(): Promise<boolean> {
    const { code } = await runCommand(this.settings, 'ledger', 'verify', '--json');
    return code === 0;
  }

  async stop(): Promise<void> {
    await this.database.end();
    await this.gateway.stop();
    await endChildren();
    this.remove();
  }
}

function catalogEntry(): object {
  const priced = (microPerToken: number): object[] => [
    {
      effective_from: '2026-01-01',
      source: 'made up',
      checked_at: '2026-01-01',
      tokens: { per_1m_micro: { input: microPerToken * 1_000_000, output: microPerToken * 1_000_000 } },
    },
  ];
  return {
    id: MODEL,
    modality: 'text',
    input_modalities: ['text'],
    output_modalities: ['text'],
    context: 32_768,
    max_output: 8_192,
    deployments: [
      { provider: 'openai-compatible', upstream_model: 'scorecard', prices: priced(PRICE_MICRO.first) },
      { provider: 'openai', upstream_model: 'scorecard', prices: priced(PRICE_MICRO.second) },
    ],
    prices: priced(PRICE_MICRO.model),
  };
}

async function command(settings: GatewayProcessSettings, ...args: string[]): Promise<string> {
  const { code, output } = await runCommand(settings, ...args);
  if (code !== 0) throw new Error(`${args.slice(0, 2).join(' ')} failed:\n${output}`);
  return output;
}

function field(output: string, name: string): string {
  const value = (JSON.parse(output) as Record<string, unknown>)[name];
  if (typeof value !== 'string') throw new Error(`the command printed no ${name}`);
  return value;
}
