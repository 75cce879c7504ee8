import type { RequestTrace } from '../../types/trace';
import { traceFieldsOf } from './tracing';

const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN_ID = '00f067aa0ba902b7';

describe('what a log line says about the trace of its request', () => {
  it('is trace and span where the request is traced', () => {
    const trace = { traceId: TRACE_ID, spanId: SPAN_ID } as RequestTrace;
    const traceparent = `00-${'1'.repeat(32)}-${SPAN_ID}-01`;
    expect(traceFieldsOf({ trace, traceparent })).toEqual({ trace_id: TRACE_ID, span_id: SPAN_ID });
  });

  it.each([
    ["is the caller's trace where the caller does not sample", `00-${TRACE_ID}-${SPAN_ID}-00`, { trace_id: TRACE_ID }],
    ['is nothing where the header is not valid', `00-${TRACE_ID}-${'0'.repeat(16)}-01`, {}],
    ['is nothing where the caller sends none', undefined, {}],
  ])('%s', (_title, traceparent, fields) => {
    expect(traceFieldsOf({ trace: null, traceparent })).toEqual(fields);
  });
});
