import { execFile } from 'node:child_process';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { LLMock } from '@copilotkit/aimock';
import { wavHeader } from '../../../src/providers/kit/wav-header';
import { tinyPng } from '../../conformance/media-answers';
import { createTestDatabase, type TestDatabase } from '../../harness/database';
import { createTestRedis } from '../../harness/redis';
import { runLive } from '../../live/live-run';

const KEY = 'gsk-live-0123456789abcdef';
/** The only format of Groq. */
const SPOKEN_WAV = Buffer.concat([wavHeader(24_000), Buffer.alloc(24_000)]);
const ROOT = resolve(__dirname, '../../..');

describe('the run against real vendors', () => {
  let vendors: LLMock;
  let database: TestDatabase;

  beforeAll(async () => {
    vendors = new LLMock({ port: 0, strict: true, auth: { apiKeys: [KEY] } });
    await vendors.start();
    database = await createTestDatabase();
  });
  afterAll(async () => {
    await vendors.stop();
    await database.drop();
  });
  beforeEach(() => {
    vendors
      .clearFixtures()
      .onMessage('pong', { content: 'Pong.', usage: { prompt_tokens: 1_000, completion_tokens: 500 } })
      .onMessage('numbers', { content: '1\n2\n3\n'.repeat(2_000) })
      .on(
        { userMessage: 'Oslo', hasToolResult: false },
        { toolCalls: [{ name: 'find_station', arguments: { city: 'Oslo' } }] },
      )
      .on(
        { userMessage: 'Oslo', toolResultContains: 'station-7' },
        { toolCalls: [{ name: 'find_sensor', arguments: { station: 'station-7' } }] },
      )
      .on(
        { userMessage: 'Oslo', toolResultContains: 'sensor-3' },
        { toolCalls: [{ name: 'read_sensor', arguments: { sensor: 'sensor-3' } }] },
      )
      .on({ userMessage: 'Oslo', toolResultContains: '17' }, { content: '17 degrees' })
      .on(
        { userMessage: 'Rome', hasToolResult: false },
        { toolCalls: ['Bern', 'Rome'].map((city) => ({ name: 'get_temperature', arguments: { city } })) },
      )
      .on({ userMessage: 'Rome', hasToolResult: true }, { content: '17 degrees in both' })
      .onMessage('animal', { content: 'A zebra.' })
      .onMessage('France', { content: '{"city":"Paris","country":"France"}' })
      .onMessage('17 by 23', { content: '391' })
      .onEmbedding(/./, { embedding: [0.1, 0.2] })
      .onImage(/./, { image: { b64Json: tinyPng().toString('base64') } })
      .on({ model: /orpheus/, endpoint: 'speech' }, { audio: SPOKEN_WAV.toString('base64') })
      .onSpeech(/./, { audio: Buffer.alloc(2_000).toString('base64') })
      .onTranscription({ transcription: { text: 'Hello', duration: 1, words: [{ word: 'Hello', start: 0, end: 1 }] } });
  });

  async function run(): Promise<{ exitCode: number; output: string }> {
    const lines: string[] = [];
    const exitCode = await runLive({
      environment: {
        GROQ_API_KEY: KEY,
        GROQ_BASE_URL: `${vendors.url}/v1`,
        OPENAI_API_KEY: KEY,
        OPENAI_BASE_URL: `${vendors.url}/v1`,
      },
      services: { databaseUrl: database.url, redisUrl: createTestRedis().url },
      print: (line) => lines.push(line),
    });
    return { exitCode, output: lines.join('\n') };
  }
  const rowsOf = (output: string): string[][] => output.split('\n').map((line) => line.split(/ {2,}/));

  it('passes every journey that the catalogue offers, with its price and usage', async () => {
    vendors.onMessage('colour', { content: 'It is red.' });
    const { exitCode, output } = await run();
    const rows = rowsOf(output).filter(([vendor]) => vendor === 'groq' || vendor === 'openai');
    expect(rows.map(([vendor, , journey, result]) => `${vendor} ${journey} ${result}`)).toEqual([
      'groq chat passed',
      'groq stream passed',
      'groq abort passed',
      'groq tools over three steps passed',
      'groq parallel tools no model',
      'groq json_schema no model',
      'groq image input passed',
      'groq PDF input no model',
      'groq reasoning passed',
      'groq embeddings no model',
      'groq images no model',
      'groq speech passed',
      'groq video no model',
      'groq music no model',
      'groq transcription passed',
      'openai chat passed',
      'openai stream passed',
      'openai abort passed',
      'openai tools over three steps passed',
      'openai parallel tools passed',
      'openai json_schema passed',
      'openai image input passed',
      'openai PDF input passed',
      'openai reasoning passed',
      'openai embeddings passed',
      'openai images passed',
      'openai speech passed',
      'openai video no model',
      'openai music no model',
      'openai transcription passed',
    ]);
    // The cheapest model of Groq costs 0.075 and 0.30 dollars per million tokens.
    const chat = ['groq', 'openai/gpt-oss-20b', 'chat', 'passed', expect.any(String), '225', '1000+500'];
    expect(rows[0]).toEqual(chat);
    expect(exitCode).toBe(0);
  });

  it('fails when a vendor refuses, and says why without the key', async () => {
    vendors.onMessage('colour', {
      error: { message: `No pictures for ${KEY}.`, type: 'invalid_request_error' },
      status: 400,
    });
    // The answer is part of the reason why the journey failed.
    vendors.prependFixture({ match: { userMessage: '17 by 23' }, response: { content: `It is ${KEY}.` } });
    const { exitCode, output } = await run();
    expect(rowsOf(output).find((row) => row[2] === 'image input')?.[3]).toBe('FAILED');
    expect(output).toMatch(/groq, image input: 400 .*No pictures/);
    expect(output).toMatch(/"event":"provider_call_failed".*"provider":"groq".*"status":400/);
    expect(output).toMatch(/groq, reasoning: .*It is \[key\]/);
    expect(output).not.toContain(KEY);
    expect(exitCode).toBe(1);
  });

  it('claims nothing without a key, and lists the variables that it looked for', async () => {
    const args = ['--require', './test/harness/register-typescript.js', join('test', 'live', 'main.ts')];
    const { stdout } = await promisify(execFile)(process.execPath, args, {
      cwd: ROOT,
      env: { PATH: process.env.PATH },
    });
    expect(stdout).toMatch(/^Nothing was tested: .*ANTHROPIC_API_KEY.*GROQ_API_KEY/);
    expect(stdout).not.toContain('passed');
  });
});
