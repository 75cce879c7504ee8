/** A grey block in place of content that is loading. */
export function Skeleton({ className = 'h-4 w-full' }: { readonly className?: string }) {
  return <div aria-hidden="true" className={`animate-pulse rounded bg-sunken ${className}`} />;
}

/** Rows of a table or list that is loading. */
export function SkeletonRows({ rows = 8 }: { readonly rows?: number }) {
  return (
    <div className="space-y-3 p-4">
      {Array.from({ length: rows }, (_, index) => (
        <Skeleton key={index} className="h-5 w-full" />
      ))}
    </div>
  );
}

/** A page that is loading. */
export function PageSkeleton() {
  return (
    <div role="status">
      <span className="sr-only">Loading</span>
      <Skeleton className="mb-6 h-8 w-56" />
      <Skeleton className="h-72 w-full" />
    </div>
  );
}
