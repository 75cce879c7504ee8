/**
 * The official `openai` package in each major version still in use, configured as users do: a base URL and a key. Tests
 * are written against the types of the newest, which takes all of them; one file covers the older versions.
 */
import type OpenAI from 'openai';
import type { ClientOptions } from 'openai';
import type { z as Zod } from 'zod';
import type { TestGateway } from '../harness/gateway';

type OpenAiPackage = typeof import('openai');
type ZodHelpers = Pick<typeof import('openai/helpers/zod'), 'zodResponseFormat' | 'zodTextFormat'>;

type Helpers = Pick<OpenAI['chat']['completions'], 'parse' | 'stream' | 'runTools'>;

interface PackageName {
  readonly major: number;
  readonly name: string;
  /** Versions 4 and 5 read the internals of zod 3 schemas; later ones take zod 4. */
  readonly zod: 3 | 4;
}

const PACKAGES: readonly PackageName[] = [
  { major: 4, name: 'openai4', zod: 3 },
  { major: 5, name: 'openai5', zod: 3 },
  { major: 6, name: 'openai6', zod: 4 },
  { major: 7, name: 'openai', zod: 4 },
];

/** One loaded version. Its error classes are in `sdk`; no two versions share them. */
export class OfficialClient {
  private constructor(
    readonly sdk: OpenAiPackage,
    readonly zodResponseFormat: ZodHelpers['zodResponseFormat'],
    readonly zodTextFormat: ZodHelpers['zodTextFormat'],
    /** The zod version that this client's helpers support. */
    readonly z: typeof Zod,
  ) {}

  static load({ name, zod }: PackageName): OfficialClient {
    const exports: unknown = require('zod');
    const installed = require.cache[require.resolve('zod')] as NodeJS.Module;
    try {
      // An application with zod 3 installed gets this code; zod 4 ships it too.
      if (zod === 3) installed.exports = require('zod/v3');
      const sdk: OpenAiPackage = require(name);
      const { zodResponseFormat, zodTextFormat }: ZodHelpers = require(`${name}/helpers/zod`);
      return new OfficialClient(sdk, zodResponseFormat, zodTextFormat, installed.exports.z);
    } finally {
      installed.exports = exports;
    }
  }

  connect(gateway: TestGateway, key: string, options: ClientOptions = {}): OpenAI {
    return new this.sdk.OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: key, ...options });
  }

  /** The location of `parse`, `stream` and `runTools`: version 4 has them under `beta`. */
  helpers(client: OpenAI): Helpers {
    const { chat = client.chat } = client.beta as { chat?: { completions: Helpers } };
    return chat.completions;
  }
}

const [newest, ...older] = PACKAGES.toReversed().map((each): [string, OfficialClient] => [
  `openai ${each.major}`,
  OfficialClient.load(each),
]);

/** For `describe.each`: a title and the client. */
export const NEWEST_CLIENT = [newest as [string, OfficialClient]];
export const OLDER_CLIENTS = older;
