/** Speech of a vendor that returns a file: nothing is delivered before its first bytes were checked. */
import { FakeUpstream } from '../../conformance/fake-upstream';
import { FalUpstream } from '../../conformance/fal-upstream';
import { speech } from '../../conformance/media-answers';
import type { TestCustomer } from '../../harness/gateway';
import { PublicHost, respondWith } from '../../harness/public-host';
import { AudioGateway } from './audio-gateway';

const BODY = { model: 'local/recorded', input: 'Hello there.', voice: 'alloy' };
const COST_MICRO = 180;

let files: PublicHost;
let vendor: FakeUpstream;
let audio: AudioGateway;
let customer: TestCustomer;

beforeAll(async () => {
  files = await PublicHost.start();
  vendor = await FakeUpstream.start();
  const queue = new FalUpstream();
  queue.end = { result: { audio: { url: files.url('/speech') } } };
  vendor.answer = queue.answer;
  audio = await AudioGateway.start({ FAL_KEY: 'key', FAL_BASE_URL: vendor.origin, OUTBOUND_ALLOW_CIDRS: '127.0.0.1' });
});
beforeEach(async () => {
  customer = await audio.gateway.customer();
  audio.upstream.answer = speech('ID3 of the other');
});
afterAll(async () => {
  await audio.stop();
  await Promise.all([vendor.stop(), files.stop()]);
});

describe('a recording', () => {
  it.each([
    ['in the requested format is delivered', 'ID3 of the file', 'ID3 of the file'],
    ['in another format lets the next deployment speak', 'RIFF....WAVEfmt ', 'ID3 of the other'],
    ['without audio lets the next deployment speak', '', 'ID3 of the other'],
  ])('%s, and only what was delivered is charged', async (_what, file, delivered) => {
    files.answer = (response) => respondWith(response, Buffer.from(file), 'audio/mpeg');
    const reply = await audio.gateway.call('/v1/audio/speech', { key: customer.key, body: BODY });
    expect([reply.status, reply.text]).toEqual([200, delivered]);
    expect(await audio.records(customer)).toMatchObject([{ status: 200, charged_micro: String(COST_MICRO) }]);
    expect(await audio.account(customer)).toEqual({ free: 10_000_000 - COST_MICRO, held: 0 });
  });

  it('in another format is free if no deployment is left', async () => {
    files.answer = (response) => respondWith(response, Buffer.from('RIFF....WAVEfmt '), 'audio/mpeg');
    audio.upstream.answer = speech('RIFF....WAVEfmt ');
    const reply = await audio.gateway.call('/v1/audio/speech', { key: customer.key, body: BODY });
    expect([reply.status, reply.json.error.code]).toEqual([502, 'provider_error']);
    expect(await audio.account(customer)).toEqual({ free: 10_000_000, held: 0 });
  });
});

it('leaves a valid ledger', async () => {
  expect(await audio.gateway.violations()).toEqual([]);
});
