import { type CsvField, csvLine } from '../../core/types/csv';
import type { Bytes } from '../../core/http/answer';
import type { UsageRequest } from '../../contract/dashboard';
import type { RequestSummary } from '../../billing/usage/usage.types';
import { toCsvAnswer } from '../csv-answer';
import { toRequestFields } from './to-request-reply';

const COLUMNS = [
  'request_id',
  'created_at',
  'key_id',
  'model',
  'provider',
  'operation',
  'modality',
  'status',
  'http_status',
  'error_code',
  'streamed',
  'input_tokens',
  'output_tokens',
  'images',
  'seconds',
  'characters',
  'usage_estimated',
  'attempt_count',
  'first_token_ms',
  'total_ms',
  'cost_micro',
] as const satisfies readonly (keyof UsageRequest)[];

/** Requests as a CSV file, read page by page. */
export function requestsCsv(pages: AsyncGenerator<readonly RequestSummary[]>, method: string): Promise<Bytes> {
  return toCsvAnswer({ name: 'requests.csv', header: csvLine(COLUMNS), pages, toLine }, method);
}

function toLine(request: RequestSummary): string {
  const fields = toRequestFields(request);
  return csvLine(COLUMNS.map((column) => toField(fields[column])));
}

function toField(value: CsvField | boolean): CsvField {
  return typeof value === 'boolean' ? String(value) : value;
}
