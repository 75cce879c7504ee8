/** Paths of the pages below `/dashboard`; `$name` is an object that a test fills in. */
export const VISITOR_PAGES = [
  '/login',
  '/register',
  '/forgot-password',
  '/verify-email',
  '/reset-password',
  '/accept-invitation',
];
export const USER_PAGES = ['/account', '/organizations/new'];
/** Pages of an organization that show what it has. */
export const DATA_PAGES = [
  '',
  '/usage',
  '/requests',
  '/requests/$request',
  '/jobs',
  '/jobs/$job',
  '/webhooks',
  '/webhooks/$delivery',
  '/keys',
  '/keys/$key',
  '/explain',
  '/billing',
  '/members',
  '/audit',
  '/settings',
];
/** Pages that are the same in every organization. */
const TOOL_PAGES = [
  '/playground/chat',
  '/playground/image',
  '/playground/speech',
  '/playground/transcription',
  '/playground/video',
  '/playground/music',
  '/models',
  '/models/mock/chat-1',
];
export const ORGANIZATION_PAGES = [...DATA_PAGES, ...TOOL_PAGES];
export const OPERATOR_PAGES = [
  '',
  '/organizations',
  '/organizations/$org',
  '/users',
  '/models',
  '/models/mock/chat-1',
  '/providers',
  '/credentials',
  '/audit',
  '/instances',
];
