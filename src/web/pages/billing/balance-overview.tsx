import { useState } from 'react';
import type { Balance } from '../../../contract/dashboard';
import { useOrganization } from '../../app/use-session';
import { lowestLimit } from '../../format/limits';
import { formatMonth, startOfUtcMonth } from '../../format/time';
import { Amount } from '../../ui/amount';
import { BudgetMeter } from '../../ui/budget-meter';
import { Button } from '../../ui/button';
import { Card, Facts, Tile } from '../../ui/card';
import { BillingSettingsDialog } from './billing-settings-dialog';

export function BalanceOverview({ balance }: { readonly balance: Balance }) {
  return (
    <div className="space-y-5">
      <div className="grid gap-4 sm:grid-cols-3">
        <Tile label="Available" note="For new requests">
          <Amount micro={balance.available_micro} large />
        </Tile>
        <Tile label="Held" note="For requests and jobs in progress">
          <Amount micro={balance.reserved_micro} large />
        </Tile>
        <Tile label="Balance" note="Available plus held">
          <Amount micro={balance.balance_micro} large />
        </Tile>
      </div>
      <div className="grid items-start gap-5 lg:grid-cols-2">
        <MonthCard balance={balance} />
        <PurchaseLimits balance={balance} />
      </div>
    </div>
  );
}

function MonthCard({ balance }: { readonly balance: Balance }) {
  const { may } = useOrganization();
  const [editing, setEditing] = useState(false);
  const { monthly_limit_micro, operator_monthly_limit_micro, low_balance_threshold_micro } = balance;
  return (
    <Card
      title="Spending"
      actions={
        may('owner') && (
          <Button small onClick={() => setEditing(true)}>
            Change limits
          </Button>
        )
      }
    >
      <div className="mb-5">
        <BudgetMeter
          label={`${formatMonth(startOfUtcMonth())} (UTC)`}
          spentMicro={balance.month_spent_micro}
          limitMicro={lowestLimit([monthly_limit_micro, operator_monthly_limit_micro])}
        />
      </div>
      <Facts
        facts={[
          ['Your monthly limit', <AmountOrNone key="own" micro={monthly_limit_micro} />],
          [
            'Operator’s monthly limit',
            operator_monthly_limit_micro === null ? null : <Amount key="theirs" micro={operator_monthly_limit_micro} />,
          ],
          ['Low-balance mail below', <AmountOrNone key="mail" micro={low_balance_threshold_micro} />],
        ]}
      />
      {!may('owner') && <p className="mt-3 text-muted">Owners can change the limits.</p>}
      {editing && <BillingSettingsDialog balance={balance} onClose={() => setEditing(false)} />}
    </Card>
  );
}

function AmountOrNone({ micro }: { readonly micro: number | null }) {
  return micro === null ? <span className="text-muted">none</span> : <Amount micro={micro} />;
}

function PurchaseLimits({ balance: { purchases } }: { readonly balance: Balance }) {
  if (!purchases.enabled) {
    return (
      <Card title="Buying credit">
        <p className="text-muted">This service does not sell credit. Ask its operator to add some.</p>
      </Card>
    );
  }
  return (
    <Card title="Buying credit" description="What you can still buy within the operator’s limits">
      <Facts
        facts={[
          [
            'Today (UTC)',
            <span key="day">
              <Amount micro={purchases.day_left_micro} /> of <Amount micro={purchases.day_limit_micro} />
            </span>,
          ],
          [
            'This month (UTC)',
            <span key="month">
              <Amount micro={purchases.month_left_micro} /> of <Amount micro={purchases.month_limit_micro} />
            </span>,
          ],
        ]}
      />
    </Card>
  );
}
