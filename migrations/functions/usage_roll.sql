-- Folds at most `p_limit` rows of `usage_delta` into the totals; returns how many. One statement, so all of it or nothing.
--
-- Several processes may fold at the same time: each takes rows that no other has locked, and updates totals in the order of
-- their keys, so that two processes with the same totals wait for each other and never deadlock. Rows are read through the
-- primary key: the table is never truncated, so a scan from its beginning would read every page that the largest flood of
-- requests has left empty. Neighbours in its order mostly have the same totals.
CREATE OR REPLACE FUNCTION usage_roll(p_limit integer) RETURNS integer LANGUAGE plpgsql
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $$
DECLARE
  v_count integer;
BEGIN
  WITH free AS (
    SELECT organization_id, hour, id FROM usage_delta
     ORDER BY organization_id, hour, id LIMIT p_limit FOR UPDATE SKIP LOCKED
  ), taken AS (
    DELETE FROM usage_delta delta USING free
     WHERE delta.organization_id = free.organization_id AND delta.hour = free.hour AND delta.id = free.id
    RETURNING delta.*
  ), by_model AS (
    INSERT INTO usage_by_model AS total
      SELECT organization_id, span, date_trunc(span, hour, 'UTC'), model, operation, outcome, sum(requests),
             bit_or(CASE span WHEN 'hour' THEN minutes END), sum(input_tokens), sum(output_tokens), sum(charged_micro),
             -- There is no aggregate that concatenates arrays.
             usage_latency_sum(string_to_array(string_agg(array_to_string(latency, ','), ','), ',')::bigint[])
        FROM taken, (VALUES ('hour'), ('day')) spans (span) GROUP BY 1, 2, 3, 4, 5, 6 ORDER BY 1, 2, 3, 4, 5, 6
    ON CONFLICT (organization_id, span, starts_at, model, operation, outcome) DO UPDATE SET
      requests = total.requests + excluded.requests, minutes = total.minutes | excluded.minutes,
      input_tokens = total.input_tokens + excluded.input_tokens,
      output_tokens = total.output_tokens + excluded.output_tokens,
      charged_micro = total.charged_micro + excluded.charged_micro,
      latency = usage_latency_sum(total.latency || excluded.latency)
  ), by_key AS (
    INSERT INTO usage_by_key AS total
      SELECT organization_id, span, date_trunc(span, hour, 'UTC'), key_id, outcome, sum(requests),
             bit_or(CASE span WHEN 'hour' THEN minutes END), sum(input_tokens), sum(output_tokens), sum(charged_micro)
        FROM taken, (VALUES ('hour'), ('day')) spans (span) GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5
    ON CONFLICT (organization_id, span, starts_at, key_id, outcome) DO UPDATE SET
      requests = total.requests + excluded.requests, minutes = total.minutes | excluded.minutes,
      input_tokens = total.input_tokens + excluded.input_tokens,
      output_tokens = total.output_tokens + excluded.output_tokens,
      charged_micro = total.charged_micro + excluded.charged_micro
  )
  SELECT count(*) INTO v_count FROM taken;
  RETURN v_count;
END
$$;
