import type { UsagePrice, UsageReceipt } from '../../../contract/dashboard';
import { sumMicro } from '../../format/money';
import { lineLabel, lineQuantity, lineRate } from '../../format/receipt';
import { Amount } from '../../ui/amount';
import { Card } from '../../ui/card';
import { CodeBlock } from '../../ui/code-block';
import { DataTable } from '../../ui/data-table';
import { Moment } from '../../ui/moment';

interface Row {
  readonly label: string;
  readonly quantity: string;
  readonly rate: string;
  readonly micro: number | bigint;
  readonly isTotal: boolean;
}

const strong = (isTotal: boolean): string => (isTotal ? 'font-semibold' : '');

/** The charge line by line, and the price version that applied. */
export function CostCard({ receipt: { lines, price, error_code: errorCode } }: { readonly receipt: UsageReceipt }) {
  if (lines.length === 0) {
    return (
      <Card title="Cost">
        <p>Nothing was charged{errorCode === null ? '' : `, because the request ended with ${errorCode}`}.</p>
        {price !== null && (
          <div className="mt-3">
            <Price price={price} />
          </div>
        )}
      </Card>
    );
  }
  const rows: Row[] = [
    ...lines.map((line) => ({
      label: lineLabel(line),
      quantity: lineQuantity(line),
      rate: lineRate(line),
      micro: line.cost_micro,
      isTotal: false,
    })),
    {
      label: 'Charged',
      quantity: '',
      rate: '',
      micro: sumMicro(lines.map(({ cost_micro: cost }) => cost)),
      isTotal: true,
    },
  ];
  return (
    <Card title="Cost" flush>
      <DataTable
        label="Cost"
        rows={rows}
        rowKey={({ label }) => label}
        columns={[
          { id: 'for', head: 'For', cell: ({ label, isTotal }) => <span className={strong(isTotal)}>{label}</span> },
          { id: 'quantity', head: 'Quantity', end: true, cell: ({ quantity }) => quantity },
          { id: 'rate', head: 'Price', end: true, priority: 'middle', cell: ({ rate }) => rate },
          {
            id: 'cost',
            head: 'Cost',
            end: true,
            cell: ({ micro, isTotal }) => (
              <span className={strong(isTotal)}>
                <Amount micro={micro} />
              </span>
            ),
          },
        ]}
      />
      {price !== null && (
        <div className="border-t px-4 py-3 sm:px-5">
          <Price price={price} />
        </div>
      )}
    </Card>
  );
}

function Price({ price }: { readonly price: UsagePrice }) {
  return (
    <div className="space-y-2">
      <p className="text-muted">
        Price of {price.model} in force since <Moment time={price.effective_from} zoned />
        {price.deployment_id !== null && `, at ${price.deployment_id}`}.
      </p>
      <details>
        <summary className="w-fit">Price version {price.id}</summary>
        <div className="mt-2">
          <CodeBlock label="price in micro-dollars" code={JSON.stringify(price.content, null, 2)} />
        </div>
      </details>
    </div>
  );
}
