import { PageHeader } from '../../ui/page-header';

export function WebhooksPage() {
  return <PageHeader title="Webhooks" />;
}
