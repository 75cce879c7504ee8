import './app/fragment';
import { CSPProvider } from '@base-ui/react/csp-provider';
import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { watchActivity } from './api/polling';
import { createQueryClient } from './api/query-client';
import { watchSession } from './app/session-state';
import { NoticeProvider } from './app/notices';
import { createAppRouter } from './router';
import './styles.css';

const queries = createQueryClient();
const router = createAppRouter(queries);
watchActivity(queries);
watchSession(queries);

const root = document.getElementById('root');
if (root === null) throw new Error('The page has no root element.');
createRoot(root).render(
  <StrictMode>
    <CSPProvider disableStyleElements>
      <QueryClientProvider client={queries}>
        <NoticeProvider>
          <RouterProvider router={router} />
        </NoticeProvider>
      </QueryClientProvider>
    </CSPProvider>
  </StrictMode>,
);
