import { Link } from '@tanstack/react-router';
import { PageHeader } from '../ui/page-header';

/** Also for objects of organizations that the user is not a member of. */
export function NoSuchPage({ object = 'page' }: { readonly object?: string }) {
  return (
    <div className="py-10">
      <PageHeader title={`There is no such ${object}`} />
      <p className="text-muted">
        The address is wrong, or you have no access to it.{' '}
        <Link to="/" className="link">
          Go to the start page
        </Link>
      </p>
    </div>
  );
}
