import type { TestCustomer, TestGateway } from '../../harness/gateway';
import { heldMicro } from '../traces';

/** Usage of a call as a framework reports it. */
export interface CountedTokens {
  readonly inputTokens: number | undefined;
  readonly outputTokens: number | undefined;
}

/** Prices of the text models in the client tests, in micro-units per million tokens. */
const INPUT_PRICE = 100_000n;
const OUTPUT_PRICE = 400_000n;

/**
 * Requires that a customer's calls were charged once each, in order, for exactly the tokens that the framework
 * reported, and that no hold remains. Some frameworks hide the cost in replies; none hides the tokens.
 */
export async function expectChargedOnce(
  gateway: TestGateway,
  customer: TestCustomer,
  calls: readonly CountedTokens[],
): Promise<void> {
  const records = await gateway.rows(
    `SELECT status, usage_estimated, input_text, output_text, charged_micro FROM usage_record
     WHERE organization_id = $1 ORDER BY id`,
    [customer.organizationId],
  );
  expect(records).toEqual(
    calls.map((call) => ({
      status: 200,
      usage_estimated: false,
      input_text: String(call.inputTokens),
      output_text: String(call.outputTokens),
      charged_micro: String(priceOf(call)),
    })),
  );
  expect(await heldMicro(gateway, customer)).toBe(0);
}

/** Rounded up, as charges are. */
function priceOf({ inputTokens = 0, outputTokens = 0 }: CountedTokens): bigint {
  const perMillion = BigInt(inputTokens) * INPUT_PRICE + BigInt(outputTokens) * OUTPUT_PRICE;
  return (perMillion + 999_999n) / 1_000_000n;
}
