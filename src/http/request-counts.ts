import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Metrics } from '../core/observability/metrics/catalogue';
import type { RequestContext } from '../core/types/request-context';
import { outcomeOf, type RequestMetrics } from '../inference/request-metrics';
import { OVERLOADED } from './availability';

/** Counts the requests that inference does not count: refusals before a hold, and dashboard requests. */
export function addRequestCounts(server: FastifyInstance, metrics: Metrics, requests: RequestMetrics): void {
  server.decorate('noteRefusal', (request, error) => {
    const { operation } = request.routeOptions.config;
    // Requests with an undecodable path have no context.
    const context = request.context as RequestContext | undefined;
    if (operation === undefined || context === undefined || context.isRecorded) return;
    context.isRecorded = true;
    // The detector logs an overload, so that its thousands of refusals need no lines.
    if (error === OVERLOADED) requests.recordUncharged(operation, undefined, outcomeOf(0, error.code), false);
    else requests.recordRefusal(operation, context, error, isStreamed(request));
  });
  const countDashboard = (request: FastifyRequest, reply: FastifyReply, done: () => void): void => {
    const { url = '' } = request.routeOptions;
    metrics.dashboardRequests.of(url, `${Math.floor(reply.statusCode / 100)}xx`).inc();
    done();
  };
  server.addHook('onRoute', (route) => {
    if (route.config?.session !== undefined) route.onResponse = countDashboard;
  });
}

function isStreamed({ body }: FastifyRequest): boolean {
  return typeof body === 'object' && body !== null && (body as { readonly stream?: unknown }).stream === true;
}
