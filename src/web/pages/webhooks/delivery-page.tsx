import { PageHeader } from '../../ui/page-header';

export function DeliveryPage() {
  return <PageHeader title="Delivery" />;
}
